// What a TensorRT library is, as its file tells: a process loads the one that it uses, and no other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../tensorrt/library.h"

namespace nt::finding {

struct Identity {
  // with links resolved
  std::string path;
  tensorrt::Kind kind = tensorrt::Kind::full;
  // 0 where neither the library's name for the loader nor its file name has one
  int major = 0;
  // nothing where only loading it tells
  std::optional<tensorrt::Version> version;
  bool hasBuilder = false;

  // "TensorRT 10.15.1", "TensorRT 10" where no more is known
  std::string name() const;
};

// Of one that is open in this process, what it says itself. Throws ERR_TRT_NO_LIBRARY where the file is no TensorRT
// library, ERR_TRT_UNSUPPORTED where it is one of a version that is not known here.
Identity identify(const std::string& path);

// The same with the version, for which the library is loaded where nothing else tells it.
Identity identifyWhole(const std::string& path);

// Its ONNX parser: beside it, else the loader's. Throws ERR_TRT_NO_LIBRARY.
std::string parserOf(const Identity& library);

// The number that a function without arguments returns, if its code does nothing else.
std::optional<int> constantOf(const std::vector<uint8_t>& code);

// The version of "libnvinfer.so.10.15.1"; nothing where the name has fewer than three numbers.
std::optional<tensorrt::Version> versionOfName(std::string_view file);

}  // namespace nt::finding
