// SPDX-License-Identifier: Apache-2.0
#include "tools/cupool/launch/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace cupool::tool {
namespace {

using Finding = ProgramCheck::Finding;

/// The file that execvp would run, and whether it was found without being executable.
struct Found {
  std::string path;
  bool executable = false;
};

std::optional<Found> find_on_path(const std::string& name) {
  const auto look = [](const std::string& path) -> std::optional<Found> {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    return Found{path, S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0};
  };
  if (name.find('/') != std::string::npos) return look(name);
  const char* variable = std::getenv("PATH");
  std::istringstream folders(variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin");
  std::optional<Found> second_best;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::optional<Found> found = look((folder.empty() ? "." : folder) + "/" + name);
    if (found && found->executable) return found;
    if (found && !second_best) second_best = found;
  }
  return second_best;
}

/// The parts of an ELF file that decide: read with bounds, because it is somebody's file.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path, std::ios::binary) {
    file_.read(reinterpret_cast<char*>(&header_), sizeof header_);
    is_elf_ = file_.gcount() >= static_cast<std::streamsize>(EI_NIDENT) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0;
    if (is_elf() && is_64_bit() && file_.gcount() == sizeof header_) read_segments();
  }
  bool is_elf() const { return is_elf_; }
  bool is_64_bit() const { return header_.e_ident[EI_CLASS] == ELFCLASS64; }
  bool is_this_machine() const { return header_.e_machine == EM_X86_64; }
  const std::string& interpreter() const { return interpreter_; }

  /// Names that the program is linked with.
  std::vector<std::string> needed() {
    std::vector<std::string> names;
    const std::string strings = bytes_at(string_table_, kLimit);
    for (const std::uint64_t offset : needed_) {
      if (offset < strings.size()) names.emplace_back(strings.c_str() + offset);
    }
    return names;
  }

  /// Whether a section of this name exists: nvcc's machine code lies in one of its own.
  bool has_section(const std::string& wanted) {
    const std::string table = bytes_of_file(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr));
    const std::size_t count = table.size() / sizeof(Elf64_Shdr);
    if (header_.e_shstrndx >= count) return false;
    const auto section = [&](std::size_t index) {
      Elf64_Shdr entry;
      std::memcpy(&entry, table.data() + index * sizeof entry, sizeof entry);
      return entry;
    };
    const std::string names =
        bytes_of_file(section(header_.e_shstrndx).sh_offset, std::min<std::uint64_t>(section(header_.e_shstrndx).sh_size, kLimit));
    for (std::size_t index = 0; index < count; ++index) {
      const std::uint64_t name = section(index).sh_name;
      if (name < names.size() && wanted == names.c_str() + name) return true;
    }
    return false;
  }

 private:
  static constexpr std::uint64_t kLimit = 1 << 20;

  std::string bytes_of_file(std::uint64_t offset, std::uint64_t size) {
    std::string bytes(std::min(size, kLimit), '\0');
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file_.gcount(), 0)));
    return bytes;
  }

  /// Bytes at a loaded address.
  std::string bytes_at(std::uint64_t address, std::uint64_t size) {
    for (const Elf64_Phdr& segment : loads_) {
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
        const std::uint64_t inside = address - segment.p_vaddr;
        return bytes_of_file(segment.p_offset + inside, std::min(size, segment.p_filesz - inside));
      }
    }
    return "";
  }

  void read_segments() {
    const std::string table = bytes_of_file(header_.e_phoff, std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr));
    Elf64_Phdr dynamic{};
    for (std::size_t at = 0; at + sizeof(Elf64_Phdr) <= table.size(); at += sizeof(Elf64_Phdr)) {
      Elf64_Phdr segment;
      std::memcpy(&segment, table.data() + at, sizeof segment);
      if (segment.p_type == PT_LOAD) loads_.push_back(segment);
      if (segment.p_type == PT_DYNAMIC) dynamic = segment;
      if (segment.p_type == PT_INTERP)
        interpreter_ = bytes_of_file(segment.p_offset, std::min<std::uint64_t>(segment.p_filesz, 4096)).c_str();
    }
    const std::string entries = bytes_of_file(dynamic.p_offset, dynamic.p_filesz);
    for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= entries.size(); at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, entries.data() + at, sizeof entry);
      if (entry.d_tag == DT_NEEDED) needed_.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) string_table_ = entry.d_un.d_ptr;
    }
  }

  std::ifstream file_;
  Elf64_Ehdr header_{};
  bool is_elf_ = false;
  std::string interpreter_;
  std::vector<Elf64_Phdr> loads_;
  std::vector<std::uint64_t> needed_;
  std::uint64_t string_table_ = 0;
};

bool is_privileged(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
  const bool changes_group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getegid();
  return changes_user || changes_group || getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// The interpreter of a script, or nothing.
std::optional<std::string> script_interpreter(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(256, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return std::nullopt;
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  std::string interpreter, argument;
  words >> interpreter >> argument;
  // "env NAME" runs what NAME is on the path.
  if (interpreter.ends_with("/env") && !argument.empty() && argument[0] != '-') return argument;
  return interpreter;
}

bool is_vendor_runtime(const std::string& library) {
  for (const char* prefix :
       {"libcudart.so", "libcublas", "libcudnn", "libcufft", "libcusolver", "libcusparse", "libcurand", "libnccl.so"}) {
    if (library.starts_with(prefix)) return true;
  }
  return false;
}

ProgramCheck check_file(const std::string& name, int depth) {
  const std::optional<Found> found = find_on_path(name);
  if (!found) return {Finding::not_found, name, name + ": no such program", false};
  ProgramCheck check{Finding::fits, found->path, "", false};
  const auto unreachable = [&](const std::string& why) {
    check.finding = Finding::unreachable;
    check.reason = found->path + " " + why;
    return check;
  };
  if (!found->executable) return {Finding::not_executable, found->path, found->path + " may not be executed", false};
  if (is_privileged(found->path)) {
    return unreachable(
        "runs with other rights than its caller's (set-uid or capabilities), so the loader ignores LD_PRELOAD; run it as a plain "
        "program");
  }
  ElfFile elf{found->path};
  if (!elf.is_elf()) {
    const std::optional<std::string> interpreter = script_interpreter(found->path);
    if (!interpreter || depth == 0) return check;  // a script without #!: /bin/sh runs it
    ProgramCheck inner = check_file(*interpreter, depth - 1);
    inner.path = found->path;
    if (inner.finding == Finding::not_found) inner.reason = found->path + ": its interpreter " + *interpreter + " does not exist";
    return inner;
  }
  if (!elf.is_64_bit() || !elf.is_this_machine())
    return unreachable("is a program for another word size or processor; cupool's library cannot be loaded into it");
  if (elf.interpreter().empty())
    return unreachable("is a static program: it has no loader that would read LD_PRELOAD; link it dynamically");
  if (elf.interpreter().find("ld-linux") == std::string::npos) {
    return unreachable("uses another C library (" + elf.interpreter() + "); cupool needs glibc");
  }
  for (const std::string& library : elf.needed()) check.needs_vendor_runtime |= is_vendor_runtime(library);
  check.needs_vendor_runtime |= elf.has_section(".nv_fatbin");
  return check;
}

}  // namespace

ProgramCheck check_program(const std::string& name) {
  return check_file(name, 4);
}

}  // namespace cupool::tool
