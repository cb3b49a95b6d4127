// SPDX-License-Identifier: Apache-2.0
#include "shim/report/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cupool::report {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t round_to_page(std::size_t size) {
  return (size + kPage - 1) / kPage * kPage;
}
constexpr std::size_t kHeaderSize = round_to_page(sizeof(RegionHeader));
constexpr std::size_t kRecordSize = round_to_page(sizeof(ProcessRecord));
constexpr std::size_t kRegionSize = kHeaderSize + kMaxProcesses * kRecordSize;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

ProcessRecord* record_at(void* base, std::size_t index) {
  return reinterpret_cast<ProcessRecord*>(static_cast<char*>(base) + kHeaderSize + index * kRecordSize);
}

ProcessRecord* own_memory() {
  void* memory = mmap(nullptr, kRecordSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return static_cast<ProcessRecord*>(memory);
  // Counting must go on even when the system is out of memory: the numbers of such a process share one static record.
  alignas(ProcessRecord) static char last_resort[sizeof(ProcessRecord)];
  return reinterpret_cast<ProcessRecord*>(last_resort);
}

Claim own(const char* why) {
  return Claim{own_memory(), false, why};
}

}  // namespace

Result<Region> Region::create(std::string_view run) {
  Descriptor file{memfd_create("cupool-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (file.get() < 0) return fail(Errc::io, "memfd_create failed");
  if (ftruncate(file.get(), static_cast<off_t>(kRegionSize)) != 0) return fail(Errc::io, "the journal could not be sized");
  if (fallocate(file.get(), 0, 0, static_cast<off_t>(kHeaderSize)) != 0) return fail(Errc::no_memory, "no memory for the journal");
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(Errc::io, "the journal could not be sealed");
  void* base = mmap(nullptr, kRegionSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (base == MAP_FAILED) return fail(Errc::no_memory, "the journal could not be mapped");
  auto* header = static_cast<RegionHeader*>(base);
  header->magic = kJournalMagic;
  header->version = kJournalVersion;
  header->record_size = sizeof(ProcessRecord);
  const std::size_t length = std::min(run.size(), header->run.size() - 1);
  std::memcpy(header->run.data(), run.data(), length);
  return Region{file.release(), base};
}

Region::Region(Region&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), base_(std::exchange(other.base_, nullptr)) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(base_, other.base_);
  return *this;
}

Region::~Region() {
  if (base_ != nullptr) munmap(base_, kRegionSize);
  if (descriptor_ >= 0) close(descriptor_);
}

std::string Region::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

std::vector<const ProcessRecord*> Region::records() const {
  std::vector<const ProcessRecord*> found;
  for (std::size_t index = 0; index < kMaxProcesses; ++index) {
    // Acquire pairs with the claimer's exchange: the pages behind an owner's number are reserved, so reading them is safe.
    if (header().owners[index].load(std::memory_order_acquire) == 0) continue;
    const ProcessRecord* record = record_at(base_, index);
    if (record->state.load(std::memory_order_acquire) >= State::running) found.push_back(record);
  }
  std::sort(found.begin(), found.end(), [](const ProcessRecord* a, const ProcessRecord* b) {
    return std::pair(a->start_monotonic_ns, a->pid) < std::pair(b->start_monotonic_ns, b->pid);
  });
  return found;
}

Claim claim_record(const char* region_path) {
  if (region_path == nullptr || *region_path == '\0') return own("");
  Descriptor file{open(region_path, O_RDWR | O_CLOEXEC)};
  if (file.get() < 0) return own("the launcher's journal cannot be opened from here");
  struct stat status {};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  // A file that somebody could shrink could kill this process with SIGBUS: only a sealed one of the right size will do.
  if (fstat(file.get(), &status) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
      status.st_size != static_cast<off_t>(kRegionSize)) {
    return own("the launcher's journal is not one of this version");
  }
  void* base = mmap(nullptr, kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED) return own("the launcher's journal cannot be mapped");
  auto* header = static_cast<RegionHeader*>(base);
  Claim claim{nullptr, true};
  if (header->magic != kJournalMagic || header->version != kJournalVersion || header->record_size != sizeof(ProcessRecord)) {
    claim.why_not = "the launcher's journal is not one of this version";
  }
  const auto pid = static_cast<std::uint32_t>(getpid());
  for (std::size_t index = 0; claim.record == nullptr && *claim.why_not == '\0' && index < kMaxProcesses; ++index) {
    const auto offset = static_cast<off_t>(kHeaderSize + index * kRecordSize);
    std::uint32_t nobody = 0;
    if (header->owners[index].load(std::memory_order_relaxed) != 0) continue;
    // Reserve the pages first: the launcher reads them as soon as the owner's number is there.
    if (fallocate(file.get(), 0, offset, static_cast<off_t>(kRecordSize)) != 0) {
      claim.why_not = "no memory for a record in the launcher's journal";
      break;
    }
    if (!header->owners[index].compare_exchange_strong(nobody, pid, std::memory_order_acq_rel)) continue;
    void* memory = mmap(nullptr, kRecordSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), offset);
    if (memory == MAP_FAILED) {
      header->owners[index].store(0, std::memory_order_release);
      claim.why_not = "the launcher's journal cannot be mapped";
      break;
    }
    claim.record = static_cast<ProcessRecord*>(memory);
  }
  if (claim.record == nullptr && *claim.why_not == '\0') {
    header->turned_away.fetch_add(1, std::memory_order_relaxed);
    claim.why_not = "the launcher's journal has no free record";
  }
  munmap(base, kHeaderSize);
  return claim.record != nullptr ? claim : own(claim.why_not);
}

}  // namespace cupool::report
