// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzzing target over its corpus without a fuzzer: replay CORPUS (the format is run_fuzz.py's).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

/// The characters of a JSON string are the bytes of the input.
std::vector<std::uint8_t> bytes_of(const std::string& line) {
  const std::string text = nlohmann::json::parse(line).get<std::string>();
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    const bool has_two = lead >= 0xC0;
    bytes.push_back(has_two ? static_cast<std::uint8_t>((lead & 3U) << 6 | (static_cast<std::uint8_t>(text[i + 1]) & 0x3FU))
                            : lead);
    if (has_two) ++i;
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream corpus(argv[1]);
  std::string line;
  std::size_t inputs = 0;
  for (; std::getline(corpus, line); ++inputs) {
    const std::vector<std::uint8_t> bytes = bytes_of(line);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
