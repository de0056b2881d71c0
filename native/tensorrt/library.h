// A TensorRT library in this process: what it is, what it can do, and calls through its virtual tables.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "../base/error.h"
#include "dtype.h"
#include "enums.h"
#include "logger.h"
#include "methods.h"

namespace nt::tensorrt {

// full: builder and runtime; lean and dispatch: runtimes for version-compatible plans; rtx: TensorRT-RTX.
enum class Kind : uint8_t { full, lean, dispatch, rtx };
const char* kindName(Kind kind) noexcept;
// By the name of the library's file.
Kind kindOf(const std::string& path);
// How its virtual tables are laid out. Throws ERR_TRT_UNSUPPORTED where that is not known here.
Family familyOf(Kind kind, const Version& version);
// "TensorRT 10.15.1", "TensorRT-RTX 1.7.1", "TensorRT lean runtime 11.4.0"
std::string libraryName(Kind kind, const std::string& version);

// The ONNX parser that belongs to a library.
struct ParserLibrary {
  // `from`: a network, or a refitter
  using Create = void* (*)(void* from, void* logger, int version);

  std::string path;
  Create create = nullptr;
  Create createRefitter = nullptr;
  int version = 0;
};

// Opened once per file and never closed: TensorRT keeps threads and thread-locals that do not survive dlclose.
class Library {
 public:
  // The library in the file. Throws ERR_TRT_NO_LIBRARY, ERR_TRT_UNSUPPORTED.
  static const Library& open(const std::string& path);
  // The one that is open already from the file at `path`, with links resolved; null where there is none.
  static const Library* opened(const std::string& path);

  Kind kind() const noexcept { return kind_; }
  Family family() const noexcept { return family_; }
  const Version& version() const noexcept { return version_; }
  const std::string& path() const noexcept { return path_; }
  Log& log() const noexcept { return *log_; }
  void* logger() const noexcept { return logger_; }
  std::string name() const { return libraryName(kind_, version_.text()); }

  // Whether there is a builder at all; whether it builds here depends on the driver too, except with RTX.
  bool hasBuilder() const noexcept { return createBuilder_ != nullptr; }
  bool buildsWithoutGpu() const noexcept { return kind_ == Kind::rtx; }
  // The parser beside the library, else the loader's. Throws ERR_TRT_NO_LIBRARY.
  const ParserLibrary& parser() const;
  static std::string parserFile(Kind kind, int major);

  // The public objects' addresses; the caller has asked the driver first (without one, TensorRT returns garbage). Throw
  // ERR_TRT_UNSUPPORTED, ERR_TRT_EXECUTION, ERR_TRT_BUILD.
  void* createRuntime() const;
  void* createBuilder() const;
  // null where it could not be made, and the log says why
  void* createRefitter(void* engine) const;

  // The number of an enumerator that every version has.
  int32_t number(Enumerator enumerator) const noexcept { return enumNumber(enumerator, family_); }
  bool has(Enumerator enumerator) const noexcept { return enumNumber(enumerator, family_, version_) >= 0; }
  // The number, or ERR_TRT_UNSUPPORTED with both versions.
  int32_t require(Enumerator enumerator) const;
  // The same of a data type by its name, such as "float16"; ERR_TRT_INVALID_ARGUMENT where there is none.
  int32_t requireType(const std::string& dtype) const;
  // A number of TensorRT's as a data type; nothing, or "unknown", for one that there are no tensors for here.
  std::optional<DType> dtypeOf(int32_t number) const noexcept { return dtypeByNumber(number, family_); }
  std::string dtypeText(int32_t number) const;

  // Calls a method of the public object. Throws ERR_TRT_UNSUPPORTED where this version lacks it.
  template <Method M, class... Args>
  auto call(void* object, Args... args) const {
    using Signature = typename SignatureOf<M>::type;
    constexpr auto row = static_cast<std::size_t>(M);
    if (index_[row] < 0) throwMissing(M);
    void* target = methodRows()[row].throughImplementation ? static_cast<void**>(object)[1] : object;
    return Caller<Signature>::invoke(target, index_[row], args...);
  }
  bool has(Method method) const noexcept { return index_[static_cast<std::size_t>(method)] >= 0; }
  // Throws ERR_TRT_UNSUPPORTED where this version lacks the method, for callers that want to know before they begin.
  void require(Method method) const {
    if (!has(method)) throwMissing(method);
  }

  // Deletes a public object whose class begins with its destructor: the deleting one is entry 1.
  static void destroy(void* object) noexcept {
    using Destructor = void (*)(void*);
    reinterpret_cast<Destructor>((*static_cast<void***>(object))[1])(object);
  }

 private:
  using Create = void* (*)(void* logger, int version);
  using CreateFrom = void* (*)(void* from, void* logger, int version);

  template <class Signature>
  struct Caller;
  template <class R, class... Params>
  struct Caller<R(Params...)> {
    static R invoke(void* target, int index, Params... params) {
      void** table = *static_cast<void***>(target);
      return reinterpret_cast<R (*)(void*, Params...)>(table[index])(target, params...);
    }
  };

  explicit Library(const std::string& path);
  void* symbol(const char* name) const noexcept;
  [[noreturn]] void throwMissing(Method method) const;
  ParserLibrary openParser() const;

  std::string path_;
  void* handle_ = nullptr;
  Kind kind_ = Kind::full;
  Family family_ = Family::trt10;
  Version version_;
  int versionNumber_ = 0;
  Create createRuntime_ = nullptr;
  Create createBuilder_ = nullptr;
  CreateFrom createRefitter_ = nullptr;
  std::array<int16_t, kMethods> index_{};
  std::unique_ptr<Log> log_ = std::make_unique<Log>();
  void* logger_ = nullptr;
  mutable std::mutex parserMutex_;
  mutable std::unique_ptr<ParserLibrary> parser_;
};

}  // namespace nt::tensorrt
