#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way to the driver ends in the hook, and a call made through it arrives once. Usage: routes_test.py BUILD"""
import unittest

from guests import Folder, environment, lines_of, run, GUESTS, PRELOAD, SHIM

HOOKED = ["link", "dlsym_soname", "dlsym_default", "dlsym_next", "dlsym_program", "dlsym_noload", "dlsym_lazy", "dlsym_other_name",
          "dlmopen", "lookup_v1"]
HOOKED_BY_V2 = ["lookup_v2_flags_0", "lookup_v2_flags_1", "lookup_v2_flags_2", "lookup_v2_without_status",
                "through_the_lookup_of_the_lookup_v2", "through_the_lookup_of_the_lookup_v1"]


class Routes(unittest.TestCase):
    def setUp(self):
        self.folder = Folder(self)

    def routes(self, driver="13000", arguments=(), **extra):
        result = run("guest_routes", *arguments, env=environment(self.folder.driver(driver), **extra))
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return lines_of(result)

    def assert_hooked(self, found, names):
        self.assertEqual({name: found.get(name) for name in names}, {name: "hook 1" for name in names})

    def test_without_us_no_route_is_hooked(self):
        found = self.routes(preload=None)
        self.assertEqual([name for name, rest in found.items() if rest.startswith("hook")], [])

    def test_every_route_is_hooked(self):
        found = self.routes()
        self.assert_hooked(found, HOOKED + HOOKED_BY_V2)
        for name in ("dlsym_of_lookup_v1", "dlsym_of_lookup_v2", "lookup_of_the_lookup_v1", "lookup_of_the_lookup_v2"):
            self.assertEqual(found[name], "hook 0", name)

    def test_every_route_is_hooked_when_everything_is_bound_at_start(self):
        self.assert_hooked(self.routes(LD_BIND_NOW=1), HOOKED + HOOKED_BY_V2)

    def test_every_route_is_hooked_when_the_lookup_gives_other_addresses_than_the_exports(self):
        self.assert_hooked(self.routes(FAKE_CUDA_LOOKUP="other"), HOOKED + HOOKED_BY_V2)

    def test_what_the_driver_answers_is_left_as_it_is(self):
        bare, governed = self.routes(preload=None), self.routes()
        for name in ("lookup_above_the_driver", "lookup_of_an_unknown_name", "lookup_of_the_empty_name", "lookup_of_a_form_too_new",
                     "lookup_of_a_name_never_hooked", "dlsym_of_a_name_never_hooked", "dlsym_of_an_unknown_name"):
            self.assertEqual(governed[name], bare[name], name)

    def test_a_lookup_by_version_is_hooked_where_the_version_exists(self):
        self.assertEqual(self.routes(driver="versioned")["dlvsym"], "hook 1")
        self.assertEqual(self.routes()["dlvsym"], "none -1")

    def test_a_newer_form_that_we_do_not_know_passes(self):
        found = self.routes(driver="13030", FAKE_CUDA_LOOKUP="newer")
        self.assertEqual(found["lookup_of_a_newer_form"], "driver 77")
        self.assert_hooked(found, ["lookup_v2_flags_0", "link"])

    def test_a_driver_without_the_second_lookup_has_no_hook_for_it(self):
        found = self.routes(driver="11050")
        self.assertEqual(found["dlsym_of_lookup_v2"], "none 0")
        self.assertEqual(found["dlsym_of_lookup_v1"], "hook 0")
        # Looking for all that this driver lacks must not show as an error of the program's lookup.
        self.assertEqual(found["error_after_the_first_lookup"], "found no error")
        self.assert_hooked(found, HOOKED)

    def test_a_driver_without_any_lookup_works_with_everything_bound_at_start(self):
        found = self.routes(driver="11010", LD_BIND_NOW=1)
        self.assertEqual((found["dlsym_of_lookup_v1"], found["dlsym_of_lookup_v2"]), ("none 0", "none 0"))
        self.assert_hooked(found, HOOKED[:-1])

    def test_an_absolute_path_to_another_copy_leads_to_the_first(self):
        copy = self.folder.driver("copy")
        found = self.routes(arguments=[copy / "libcuda.so.1"])
        self.assert_hooked(found, HOOKED + HOOKED_BY_V2)
        self.assertEqual((found["dlsym_absolute_path"][:5], found["second_copy"]), ("hook ", "leads_to_the_first"))

    def test_the_order_of_library_folders_does_not_matter(self):
        # The one that the program finds is the one that is governed.
        first, second = self.folder.driver("13000"), self.folder.driver("copy")
        for order in (f"{first}:{second}", f"{second}:{first}"):
            result = run("guest_routes", env=environment(order))
            self.assert_hooked(lines_of(result), HOOKED + HOOKED_BY_V2)

    def test_a_library_linked_with_the_driver_and_opened_privately_is_hooked(self):
        result = run("guest_late", "library", GUESTS / "libguest_library.so", env=environment(self.folder.driver("13000")))
        self.assertEqual((result.stdout, result.stderr), ("library 0\n", ""))

    def test_a_folder_of_any_name_will_do(self):
        odd = self.folder.copy(PRELOAD, SHIM / "libcupool-core.so", folder="odd name, with: no colon".replace(":", ""))
        found = lines_of(run("guest_routes", env=environment(self.folder.driver("13000"), preload=None, LD_LIBRARY_PATH=f"{self.folder.driver('13000')}:{odd}",
                                                             LD_PRELOAD="libcupool.so")))
        self.assert_hooked(found, HOOKED + HOOKED_BY_V2)
        self.assertEqual(found["dlsym_of_an_unknown_name"], "none 0")

    def test_a_relative_path_survives_a_change_of_folder(self):
        place = self.folder.copy(PRELOAD, SHIM / "libcupool-core.so")
        result = run("/bin/sh", "-c", f"cd / && exec {GUESTS / 'guest_routes'}", cwd=place,
                     env=environment(self.folder.driver("13000"), preload="./libcupool.so"))
        self.assertIn("cannot be preloaded", result.stderr)  # sh's child looks for it in /: the loader's own answer, not ours
        result = run("guest_routes", cwd=place, env=environment(self.folder.driver("13000"), preload="./libcupool.so"))
        self.assert_hooked(lines_of(result), HOOKED + HOOKED_BY_V2)


class Runtime(unittest.TestCase):
    def setUp(self):
        self.env = environment(Folder(self).driver("13000"))

    def test_a_shared_runtime_is_governed_below_and_unchanged_above(self):
        governed = run("guest_runtime", env=self.env)
        bare = run("guest_runtime", env={key: value for key, value in self.env.items() if key != "LD_PRELOAD"})
        self.assertEqual(governed.stderr, "")
        self.assertEqual(governed.stdout, bare.stdout.replace(" driver ", " hook "))
        self.assertIn("entry point 0 hook 0\nentry point by version 0 hook 0\nentry point of the lookup 0 hook 0\n", governed.stdout)
        self.assertIn("last error 13, then 0", governed.stdout)

    def test_a_static_runtime_is_governed(self):
        result = run("guest_static_runtime", env=self.env)
        self.assertIn("entry point 0 hook 0\nentry point by version 0 hook 0\n", result.stdout)

    def test_each_library_reaches_the_runtime_that_it_is_linked_with(self):
        result = run("guest_runtime", GUESTS / "libguest_runtime_library_12.so", GUESTS / "libguest_runtime_library_13.so", env=self.env)
        self.assertIn("library refused by runtime 12, its last error 12, the program's 0\n"
                      "library refused by runtime 13, its last error 13, the program's 0\n", result.stdout)


class Strict(unittest.TestCase):
    def test_lookups_that_are_not_ours_keep_caller_text_and_errno(self):
        for program in ("guest_strict", "guest_strict_optimised", "guest_strict_asan", "guest_strict_tsan"):
            if not (GUESTS / program).exists():
                print(f"SKIPPED: {program} was not built")
                continue
            for bind_now in ({}, {"LD_BIND_NOW": "1"}):
                bare = run(program, env=environment(preload=None, ASAN_OPTIONS="detect_leaks=0", **bind_now))
                governed = run(program, env=environment(ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0", **bind_now))
                self.assertEqual((governed.stdout, governed.stderr, governed.returncode), (bare.stdout, bare.stderr, 0), program)

    def test_next_of_an_unrelated_library_is_next_after_that_library(self):
        interposer = GUESTS / "libguest_interposer.so"
        bare = run("guest_strict", env=environment(preload=interposer))
        for order in (f"{PRELOAD}:{interposer}", f"{interposer}:{PRELOAD}"):
            governed = run("guest_strict", env=environment(preload=order))
            self.assertEqual((governed.stdout, governed.stderr, governed.returncode), (bare.stdout, bare.stderr, 0), order)


class FirstUse(unittest.TestCase):
    def test_many_threads_and_a_constructor_may_be_first(self):
        env = environment(Folder(self).driver("13000"))
        for _ in range(50):
            result = run("guest_threads", GUESTS / "libguest_constructor.so", env=env, timeout=30)
            self.assertEqual((result.stdout, result.stderr, result.returncode), ("0 of 16 failed\n", "", 0))


if __name__ == "__main__":
    unittest.main(verbosity=0)
