// An error as the parser and its refitter tell it.
#pragma once
#include "common.h"

namespace fake {

using nvonnxparser::ErrorCode;

struct ParserError final : nvonnxparser::IParserError {
  ErrorCode code_ = ErrorCode::kSUCCESS;
  std::string desc_, node_, operator_;
  int index_ = -1, line_ = 0;
  ErrorCode code() noexcept { return code_; }
  char const* desc() noexcept { return desc_.c_str(); }
  char const* file() noexcept { return "ModelImporter.cpp"; }
  int line() noexcept { return line_; }
  char const* func() noexcept { return "importModel"; }
  int node() noexcept { return index_; }
  char const* nodeName() noexcept { return node_.c_str(); }
  char const* nodeOperator() noexcept { return operator_.c_str(); }
  char const* const* localFunctionStack() noexcept { return nullptr; }
  int32_t localFunctionStackSize() noexcept { return 0; }
};

}  // namespace fake
