#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our CUDA declarations against the genuine headers: one program, compiled once with each, must print the same facts.

The facts are drawn from the genuine header, so that a type, a member, an enumerator, a macro or a function that we lack fails to
compile: the size and alignment of every type, the offset of every member, the value of every enumerator and macro, the type of
every function. Usage: toolkit_facts_test.py SOURCE_ROOT COMPILER...; exits 77 without a toolkit.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

GENUINE = "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n"
OURS = '#include "shim/abi/driver_api.h"\n'
NAME = r"[A-Za-z_]\w*"


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def without_braces_split(text, separator):
    """Splits at separators that stand outside all braces, brackets and parentheses."""
    depth, piece = 0, ""
    for char in text:
        depth += (char in "{[(") - (char in "}])")
        if char == separator and depth == 0:
            yield piece
            piece = ""
        else:
            piece += char
    if piece.strip():
        yield piece


def members(body):
    """Paths of all members of a structure's body, nested ones with dots."""
    for declaration in without_braces_split(body, ";"):
        declaration = declaration.strip()
        if not declaration:
            continue
        if "{" in declaration:
            inner, after = declaration[declaration.index("{") + 1:declaration.rindex("}")], declaration[declaration.rindex("}") + 1:]
            name = re.match(rf"\s*({NAME})?", after).group(1)
            if name:
                yield name
            for path in members(inner):
                yield f"{name}.{path}" if name else path
            continue
        function = re.search(rf"\(\s*\*\s*({NAME})\s*\)", declaration)
        declared = function or re.search(rf"({NAME})\s*(\[[^\]]*\]\s*)*(:\s*\d+)?$", declaration)
        yield declared.group(1)


def typedefs(text):
    """(name, members, enumerators) of every type that the header names."""
    for declaration in without_braces_split(text, ";"):
        declaration = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", declaration, flags=re.S).strip()
        if not declaration.startswith("typedef"):
            continue
        callback = "{" not in declaration and re.search(rf"\(\s*\*\s*(CU\w+)\s*\)", declaration)
        declared = callback or re.search(r"\b((?:CU|cuu)\w+)$", declaration)
        if not declared:
            continue
        name = declared.group(1)
        body = declaration[declaration.index("{") + 1:declaration.rindex("}")] if "{" in declaration else ""
        if re.match(r"typedef\s+enum", declaration):
            yield name, [], [piece.split("=")[0].strip() for piece in without_braces_split(body, ",") if piece.strip()]
        else:
            yield name, list(members(body)), []


def program(preamble, types, macros, functions):
    lines = [preamble, "#include <cstddef>\n#include <cstdio>\n#include <type_traits>",
             "template <class T> const char* type_text() { return __PRETTY_FUNCTION__; }", "int main() {"]
    for name, paths, enumerators in types:
        lines.append(f'std::printf("type {name} %zu %zu\\n", sizeof({name}), alignof({name}));')
        lines += [f'std::printf("member {name}.{path} %zu %zu\\n", offsetof({name}, {path}), sizeof((({name}*)nullptr)->{path}));'
                  for path in paths]
        lines += [f'std::printf("value {value} %lld\\n", (long long){value});' for value in enumerators]
    lines += [f'std::printf("macro {macro} %lld\\n", (long long)({macro}));' for macro in macros]
    lines += [f'std::printf("function {function} %s\\n", type_text<decltype({function})>());' for function in functions]
    return "\n".join(lines) + "\nreturn 0;\n}\n"


def run_program(folder, compiler, name, text, flags):
    source, binary = folder / f"{name}.cpp", folder / name
    source.write_text(text)
    built = subprocess.run([*compiler, "-std=c++20", "-w", *flags, str(source), "-o", str(binary)], capture_output=True, text=True)
    if built.returncode != 0:
        print(f"the facts of the genuine header do not compile against {name}:\n" + built.stderr[:4000])
        sys.exit(1)
    return subprocess.run([str(binary)], capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    root, compiler = sys.argv[1], sys.argv[2:]
    toolkit = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    include = toolkit / "include"
    if not (include / "cuda.h").exists():
        skip(f"no CUDA toolkit at {toolkit} (set CUDA_HOME): our declarations were not compared with the genuine header")
    version = re.search(r"#define CUDA_VERSION (\d+)", (include / "cuda.h").read_text()).group(1)
    if version != "13000":
        skip(f"the toolkit at {toolkit} is of version {version}; the declarations are those of 13000")

    def preprocess(*flags):
        done = subprocess.run([*compiler, "-x", "c", "-E", *flags, f"-I{include}", "-"], input=GENUINE, capture_output=True, text=True)
        if done.returncode != 0:
            skip(f"the genuine header does not preprocess here: {done.stderr[:500]}")
        return done.stdout

    types, seen = [], set()
    for entry in typedefs(preprocess("-P")):
        if entry[0] not in seen:
            seen.add(entry[0])
            types.append(entry)
    # Values that are pointers are compared too: the macro's text is cast. Version-dependent and empty macros say nothing.
    macros = sorted(name for name, value in re.findall(r"^#define (CU(?:DA)?_\w+)(?: (.*))?$", preprocess("-dM"), re.M)
                    if value.strip() and name != "CUDA_CB")
    functions = sorted(set(re.findall(r"CUPOOL_ENTRY\(\s*\w+,\s*\w+,\s*\w+,\s*(\w+),", "".join(
        path.read_text() for path in pathlib.Path(root, "shim/abi/entries").glob("*.def")))))
    if len(types) < 250 or len(functions) < 600:
        print(f"only {len(types)} types and {len(functions)} functions were found: this test does not read the header any more")
        sys.exit(1)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        genuine = run_program(folder, compiler, "genuine", program(GENUINE, types, macros, functions), [f"-I{include}"])
        ours = run_program(folder, compiler, "ours", program(OURS, types, macros, functions), [f"-I{root}"])
    different = [(a, b) for a, b in zip(genuine, ours) if a != b]
    for theirs, mine in different[:20]:
        print(f"genuine: {theirs}\nours:    {mine}")
    print(f"{len(genuine)} facts of {len(types)} types, {len(macros)} macros and {len(functions)} functions compared, "
          f"{len(different)} differ")
    sys.exit(1 if different or len(genuine) != len(ours) else 0)


if __name__ == "__main__":
    main()
