#include "failure.h"

#include <cctype>
#include <string_view>

namespace nt::tensorrt {
namespace {

// Words of TensorRT 10, 11 and RTX for it, each with what stands before the number of bytes.
struct Words {
  std::string_view says, before;
};
constexpr Words kWords[] = {
    {"OutOfMemory", "Requested size was "},
    {"Requested amount of GPU memory", "GPU memory ("},
    {"out of memory", ""},
};

uint64_t numberAt(std::string_view text) {
  constexpr std::size_t kDigits = 19;  // of any number of 64 bits
  uint64_t number = 0;
  for (std::size_t i = 0; i < text.size() && i < kDigits && std::isdigit(static_cast<unsigned char>(text[i])); ++i)
    number = number * 10 + static_cast<uint64_t>(text[i] - '0');
  return number;
}

// In the words of cuda::Account, which gpu_allocator.cc logs.
bool isLimit(const std::string& line) { return line.find("(memoryLimit)") != std::string::npos; }

struct Shortage {
  std::string line;
  uint64_t bytes = 0;
};

// The newest one of which the size is known, else the newest: what fails first is repeated by whatever needed it. Where
// an engine's own limit refused, the line that says so.
std::optional<Shortage> shortageIn(const std::vector<std::string>& errors) {
  std::optional<Shortage> found;
  for (const std::string& line : errors) {
    const auto bytes = bytesWanted(line);
    if (!bytes || (found && found->bytes > 0 && *bytes == 0)) continue;
    if (found && isLimit(found->line) && !isLimit(line)) continue;
    found = Shortage{line, *bytes};
  }
  return found;
}

// Words of messages about a machine on which this library builds nothing, each with what it lacks.
struct Lack {
  std::string_view says;
  const char* lacks;
};
constexpr Lack kLacks[] = {
    // Unable to load library: libnvinfer_builder_resource_sm86.so.10.15.1: … cannot open shared object file
    {"builder_resource", "builderResource"},
    // Target GPU SM 61 is not supported by this TensorRT release
    {"Target GPU SM", "gpu"},
    // Unsupported SM: 0x601
    {"Unsupported SM", "gpu"},
};

std::optional<Error> lackIn(const std::vector<std::string>& errors, const std::string& begin) {
  for (const auto& [says, lacks] : kLacks) {
    for (const std::string& line : errors) {
      if (line.find(says) != line.npos) return Error("ERR_TRT_UNSUPPORTED", begin + line, {{"lacks", lacks}});
    }
  }
  return std::nullopt;
}

// Why it failed, if not for want of memory.
Error reasonIn(const std::vector<std::string>& errors, const std::string& begin, const char* code) {
  if (code == std::string_view("ERR_TRT_BUILD")) {
    if (const auto lack = lackIn(errors, begin)) return *lack;
  }
  return Error(code, begin + (errors.empty() ? "no reason given" : errors.back()));
}

}  // namespace

std::optional<uint64_t> bytesWanted(const std::string& line) {
  for (const Words& words : kWords) {
    if (line.find(words.says) == std::string::npos) continue;
    const std::size_t at = words.before.empty() ? std::string::npos : line.find(words.before);
    return at == std::string::npos ? 0 : numberAt(std::string_view(line).substr(at + words.before.size()));
  }
  return std::nullopt;
}

Error failureOf(const Library& library, const std::string& what, const char* code) {
  const std::vector<std::string> errors = library.log().errorsHere();
  const std::string begin = library.name() + what + ": ";
  const auto shortage = shortageIn(errors);
  Error error = shortage ? Error("ERR_TRT_OUT_OF_MEMORY", begin + shortage->line,
                                 shortage->bytes > 0 ? Error::Details{{"bytes", std::to_string(shortage->bytes)}}
                                                     : Error::Details{})
                         : reasonIn(errors, begin, code);
  error.attachLog(library.log().linesHere());
  return error;
}

}  // namespace nt::tensorrt
