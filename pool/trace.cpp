// SPDX-License-Identifier: Apache-2.0
#include "pool/trace.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

namespace cupool::pool {
namespace {

constexpr std::string_view kMagic = "CUPTRACE";
constexpr char kVersion = 1;
constexpr std::size_t kBufferSize = std::size_t{1} << 16;
constexpr std::size_t kLongestLine = 256;

constexpr std::uint8_t kKindMask = 0x03;
constexpr std::uint8_t kAllocate = 1, kFree = 2, kEnd = 3;
constexpr std::uint8_t kHasStream = 0x04, kIn512 = 0x08, kHasTime = 0x10;
constexpr std::uint8_t kKnownBits = kKindMask | kHasStream | kIn512 | kHasTime;

constexpr std::uint64_t zigzag(std::uint64_t difference) {
  // The difference wraps around: its top bit is the sign.
  return (difference << 1) ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? ~std::uint64_t{0} : 0);
}

/// Splits off the first word of a line.
std::string_view next_word(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    line = {};
    return {};
  }
  const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

std::optional<std::uint64_t> to_number(std::string_view word) {
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  if (hexadecimal) word.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, hexadecimal ? 16 : 10);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// A word of the input as it may stand in a message: no control characters, not endless.
std::string quoted(std::string_view word) {
  std::string text = "\"";
  for (const char c : word.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (word.size() > 40 ? "...\"" : "\"");
}

}  // namespace

/// Bytes from a file or from memory, one at a time.
class TraceReader::Source {
 public:
  Source(std::FILE* file, std::string name) : file_(file), name_(std::move(name)), buffer_(kBufferSize, '\0') {}
  Source(std::string_view bytes, std::string name) : name_(std::move(name)), window_(bytes) {}
  ~Source() {
    if (file_ != nullptr && file_ != stdin) std::fclose(file_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t offset() const { return offset_; }
  bool failed() const { return failed_; }

  std::optional<unsigned char> peek() {
    if (at_ == window_.size() && !fill()) return std::nullopt;
    return static_cast<unsigned char>(window_[at_]);
  }
  std::optional<unsigned char> take() {
    const auto byte = peek();
    if (byte) {
      ++at_;
      ++offset_;
    }
    return byte;
  }

 private:
  bool fill() {
    if (file_ == nullptr) return false;
    const std::size_t got = std::fread(buffer_.data(), 1, buffer_.size(), file_);
    failed_ = failed_ || std::ferror(file_) != 0;
    window_ = std::string_view(buffer_.data(), got);
    at_ = 0;
    return got != 0;
  }

  std::FILE* file_ = nullptr;
  std::string name_;
  std::string buffer_;
  std::string_view window_;
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
  bool failed_ = false;
};

TraceReader::TraceReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

tl::expected<TraceReader, TraceFault> TraceReader::open(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return tl::unexpected(TraceFault{path, std::string("cannot be opened: ") + std::strerror(errno)});
  TraceReader reader(std::make_unique<Source>(file, path == "-" ? "standard input" : path));
  // The binary form begins with a letter that begins no line of text.
  reader.binary_ = reader.source_->peek() == static_cast<unsigned char>(kMagic[0]);
  if (reader.source_->failed()) return tl::unexpected(TraceFault{path, std::string("cannot be read: ") + std::strerror(errno)});
  return reader;
}

tl::expected<TraceReader, TraceFault> TraceReader::from_bytes(std::string_view bytes, std::string name) {
  TraceReader reader(std::make_unique<Source>(bytes, std::move(name)));
  reader.binary_ = !bytes.empty() && bytes[0] == kMagic[0];
  return reader;
}

tl::unexpected<TraceFault> TraceReader::fault(std::string text) const {
  std::string place = source_->name();
  place += binary_ ? " at byte " + std::to_string(source_->offset()) : ":" + std::to_string(line_);
  return tl::unexpected(TraceFault{std::move(place), std::move(text)});
}

tl::expected<std::optional<TraceEvent>, TraceFault> TraceReader::next() {
  return binary_ ? next_binary() : next_text();
}

tl::expected<std::optional<TraceEvent>, TraceFault> TraceReader::checked(TraceEvent event) {
  if (event.kind == TraceEvent::Kind::allocate) {
    if (event.size.count == 0) return fault("an allocation of 0 bytes; the size must be at least 1");
    if (!live_.insert(event.id).second) return fault("ID " + std::to_string(event.id) + " is allocated already; free it first");
    last_id_ = event.id;
  } else if (live_.erase(event.id) == 0) {
    return fault("ID " + std::to_string(event.id) + " is not allocated, so it cannot be freed");
  }
  ++events_;
  return event;
}

tl::expected<std::optional<TraceEvent>, TraceFault> TraceReader::next_text() {
  std::array<char, kLongestLine> text{};
  while (true) {
    std::size_t length = 0;
    bool comment = false;
    auto byte = source_->take();
    if (source_->failed()) return fault("cannot be read further");
    if (!byte) return std::optional<TraceEvent>{};
    ++line_;
    for (; byte && *byte != '\n'; byte = source_->take()) {
      comment = comment || *byte == '#';
      if (comment) continue;
      if (length == text.size()) return fault("a line of more than 256 characters; expected `a ID BYTES [STREAM]` or `f ID`");
      text[length++] = static_cast<char>(*byte);
    }
    std::string_view line(text.data(), length);
    const std::string_view kind = next_word(line);
    if (kind.empty()) continue;
    if (kind != "a" && kind != "f") return fault("unknown event " + quoted(kind) + "; expected `a ID BYTES [STREAM]` or `f ID`");
    TraceEvent event;
    event.kind = kind == "a" ? TraceEvent::Kind::allocate : TraceEvent::Kind::free;
    const std::string_view id = next_word(line);
    const auto id_number = to_number(id);
    if (!id_number) return fault("the ID " + quoted(id) + " is not a number from 0 to 2^64 - 1");
    event.id = *id_number;
    if (event.kind == TraceEvent::Kind::allocate) {
      const std::string_view size = next_word(line);
      const auto size_number = to_number(size);
      if (!size_number) return fault("the size " + quoted(size) + " is not a number of bytes");
      event.size = Bytes{*size_number};
      if (const std::string_view stream = next_word(line); !stream.empty()) {
        const auto stream_number = to_number(stream);
        if (!stream_number) return fault("the stream " + quoted(stream) + " is not a number");
        event.stream = StreamId{*stream_number};
      }
    }
    if (const std::string_view rest = next_word(line); !rest.empty()) {
      return fault("unexpected " + quoted(rest) + " at the end of the line; expected `a ID BYTES [STREAM]` or `f ID`");
    }
    return checked(event);
  }
}

Result<std::uint64_t> TraceReader::read_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = source_->take();
    if (!byte) return fail(Errc::malformed, "cut short inside a number");
    const std::uint64_t bits = *byte & 0x7fU;
    if (shift == 63 && bits > 1) return fail(Errc::malformed, "a number of more than 64 bits");
    value |= bits << shift;
    if ((*byte & 0x80U) == 0) return value;
  }
  return fail(Errc::malformed, "a number of more than 64 bits");
}

tl::expected<std::optional<TraceEvent>, TraceFault> TraceReader::next_binary() {
  if (source_->offset() == 0) {
    for (const char expected : kMagic) {
      if (source_->take() != static_cast<unsigned char>(expected)) return fault("not a trace: expected text or \"CUPTRACE\"");
    }
    if (source_->take() != static_cast<unsigned char>(kVersion)) return fault("a trace of another version; this reads version 1");
  }
  const auto head = source_->take();
  if (!head) return fault("cut short: the end mark is missing");
  if ((*head & ~kKnownBits) != 0) return fault("unknown event " + std::to_string(*head));
  const auto number = [this](std::uint64_t& into) -> Result<Done> {
    const auto value = read_varint();
    if (!value) return tl::unexpected(value.error());
    into = *value;
    return Done{};
  };
  std::uint64_t passed = 0, id = 0, size = 0, stream = 0;
  Result<Done> good = Done{};
  if ((*head & kHasTime) != 0) good = number(passed);
  time_us_ += passed;
  const unsigned kind = *head & kKindMask;
  if (good) good = number(id);
  if (good && kind == kAllocate) good = number(size);
  if (good && (*head & kHasStream) != 0) good = number(stream);
  if (!good) return fault(good.error().detail);
  if (kind == kEnd) {
    if (id != events_) return fault("the end mark says " + std::to_string(id) + " events, there are " + std::to_string(events_));
    if (source_->take()) return fault("something follows the end mark");
    binary_ = false;  // from here on the source is empty: the text reader answers "no more"
    return std::optional<TraceEvent>{};
  }
  if (kind != kAllocate && kind != kFree) return fault("unknown event " + std::to_string(*head));
  TraceEvent event;
  event.kind = kind == kAllocate ? TraceEvent::Kind::allocate : TraceEvent::Kind::free;
  event.id = kind == kAllocate ? last_id_ + unzigzag(id) : last_id_ - unzigzag(id);
  if ((*head & kIn512) != 0 && size > std::numeric_limits<std::uint64_t>::max() / 512) return fault("a size of more than 64 bits");
  event.size = Bytes{(*head & kIn512) != 0 ? size * 512 : size};
  event.stream = StreamId{stream};
  event.time_us = time_us_;
  return checked(event);
}

tl::expected<std::vector<TraceEvent>, TraceFault> read_trace(const std::string& path) {
  auto reader = TraceReader::open(path);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  std::vector<TraceEvent> events;
  while (true) {
    auto event = reader->next();
    if (!event) return tl::unexpected(std::move(event.error()));
    if (!*event) return events;
    events.push_back(**event);
  }
}

Result<std::unique_ptr<TraceRecorder>> TraceRecorder::create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return fail(Errc::io, "the trace file cannot be created");
  std::unique_ptr<TraceRecorder> recorder(new TraceRecorder(file));
  RankedLock lock(recorder->mutex_);
  recorder->buffer_.reserve(kBufferSize + 64);
  recorder->buffer_.assign(kMagic);
  recorder->buffer_ += kVersion;
  lock.unlock();
  return recorder;
}

TraceRecorder::~TraceRecorder() {
  static_cast<void>(close());
}

void TraceRecorder::put_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) buffer_ += static_cast<char>((value & 0x7f) | 0x80);
  buffer_ += static_cast<char>(value);
}

void TraceRecorder::flush() {
  if (file_ == nullptr) return;
  failed_ = std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size() || failed_;
  buffer_.clear();
}

void TraceRecorder::begin(std::uint8_t kind, StreamId stream, std::uint8_t extra, std::uint64_t time_us) {
  if (buffer_.size() >= kBufferSize) flush();
  // A clock that went back counts as one that stood still.
  const std::uint64_t passed = time_us > last_time_us_ ? time_us - last_time_us_ : 0;
  const auto stream_bit = static_cast<std::uint8_t>(stream != StreamId{} ? kHasStream : 0);
  const auto time_bit = static_cast<std::uint8_t>(passed != 0 ? kHasTime : 0);
  buffer_ += static_cast<char>(kind | stream_bit | time_bit | extra);
  if (passed != 0) put_varint(passed);
  last_time_us_ += passed;
  ++events_;
}

void TraceRecorder::allocate(std::uint64_t id, Bytes size, StreamId stream, std::uint64_t time_us) {
  RankedLock lock(mutex_);
  if (file_ == nullptr) return;
  const bool in_512 = size.count % 512 == 0;
  begin(kAllocate, stream, in_512 ? kIn512 : 0, time_us);
  put_varint(zigzag(id - last_id_));
  put_varint(in_512 ? size.count / 512 : size.count);
  if (stream != StreamId{}) put_varint(static_cast<std::uint64_t>(stream));
  last_id_ = id;
}

void TraceRecorder::free(std::uint64_t id, StreamId stream, std::uint64_t time_us) {
  RankedLock lock(mutex_);
  if (file_ == nullptr) return;
  begin(kFree, stream, 0, time_us);
  put_varint(zigzag(last_id_ - id));
  if (stream != StreamId{}) put_varint(static_cast<std::uint64_t>(stream));
}

Result<Done> TraceRecorder::close() {
  RankedLock lock(mutex_);
  if (file_ == nullptr) return failed_ ? fail(Errc::io, "the trace is not complete") : Result<Done>{Done{}};
  const std::uint64_t events = events_;
  buffer_ += static_cast<char>(kEnd);
  put_varint(events);
  flush();
  failed_ = std::fclose(file_) != 0 || failed_;
  file_ = nullptr;
  return failed_ ? fail(Errc::io, "the trace is not complete") : Result<Done>{Done{}};
}

}  // namespace cupool::pool
