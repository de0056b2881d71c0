// The names of onnxruntime's C interface, as far as it is used here: what its header declares, in our words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nt::onnxruntime {

struct OrtApi;
struct OrtEnv;
struct OrtStatus;
struct OrtMemoryInfo;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtAllocator;
struct OrtModelMetadata;

// What the library exports as OrtGetApiBase().
struct OrtApiBase {
  // null where the library is older than the version
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// Enumerations are ints on both sides: a library may have numbers that are not known here.
using ErrorCode = int;          // OrtErrorCode
using LoggingLevel = int;       // OrtLoggingLevel
using OptimizationLevel = int;  // GraphOptimizationLevel
using ElementType = int;        // ONNXTensorElementDataType; their names: dtype.h
using OnnxType = int;           // ONNXType
using AllocatorType = int;      // OrtAllocatorType
using MemoryType = int;         // OrtMemType

inline constexpr ErrorCode kNoSuchFile = 3;
inline constexpr LoggingLevel kLogWarning = 2;
inline constexpr LoggingLevel kLogFatal = 4;
inline constexpr OptimizationLevel kOptimizeAll = 99;
inline constexpr OnnxType kTensor = 1;
inline constexpr AllocatorType kDeviceAllocator = 0;
inline constexpr MemoryType kDefaultMemory = 0;

}  // namespace nt::onnxruntime
