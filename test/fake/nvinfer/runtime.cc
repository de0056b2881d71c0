// The fake runtime: what it refuses to deserialize, and where it reads plans from.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "engine.h"

namespace fake {
namespace {

constexpr const char* kTag = kMajor == 1 ? "vtrt" : "ftrt";
constexpr const char* kDeserialize = "IRuntime::deserializeCudaEngine: ";

// The compute capability of the current device, where TensorRT was told to refuse it; else empty.
std::string refusedGpu() {
  std::string refuses;
  {
    std::lock_guard lock(library().mutex);
    refuses = library().settings.refuses;
  }
  int device = 0, major = 0, minor = 0;
  if (refuses.empty() || driver()->currentDevice(&device)) return "";
  driver()->deviceAttribute(&major, 75, device), driver()->deviceAttribute(&minor, 76, device);
  const std::string here = std::to_string(major) + '.' + std::to_string(minor);
  std::istringstream in(refuses);
  for (std::string each; std::getline(in, each, ',');)
    if (each == here) return here;
  return "";
}

// The size that a plan's header tells, 0 where it is none.
std::size_t sizeOf(const std::string& header) {
  std::uint64_t size = 0;
  std::memcpy(&size, &header[16], 8);
  return header.compare(0, 4, kTag) || size < 32 || size > (1u << 30) ? 0 : static_cast<std::size_t>(size);
}

// Appends up to `bytes`, in pieces, by `read(destination, bytes)`.
template <class Read>
bool append(std::string& plan, std::size_t bytes, Read&& read) {
  const std::size_t end = plan.size() + bytes;
  std::size_t at = plan.size();
  plan.resize(end);
  while (at < end) {
    const std::int64_t got = read(&plan[at], static_cast<std::int64_t>(std::min<std::size_t>(end - at, 65536)));
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  plan.resize(at);
  return at == end;
}

// The real one has weights read into device memory, where nobody can write without the driver.
bool appendThroughDevice(std::string& plan, std::size_t bytes, IStreamReaderV2& reader) {
  Memory memory(nullptr);
  if (!memory.take(bytes)) return false;
  const std::uint64_t copied = driver()->bytesToDevice();
  if (reader.read(memory.get(), static_cast<std::int64_t>(bytes), nullptr) != static_cast<std::int64_t>(bytes))
    return false;
  if (driver()->streamSynchronize(nullptr)) return false;
  if (driver()->bytesToDevice() - copied < bytes) misused("deviceMemoryWrittenByTheHost");
  plan.append(static_cast<const char*>(memory.get()), bytes);
  return true;
}

}  // namespace

Runtime::~Runtime() {
  if (*engines) misused("runtimeDestroyedBeforeEngine");
  journal.setRecorder(nullptr);
}

// What a plan needs and this runtime was not given; empty when there is nothing.
std::string Runtime::lacks(const Program& program) const {
  if (program.hostCode && !hostCode)
    return "Error Code 3: API Usage Error (the plan has host code inside, such as a lean runtime, which "
           "IRuntime::setEngineHostCodeAllowed(true) would allow)";
  if (!program.plugin.empty() && !registry.has(program.plugin))
    return "Error Code 1: Serialization (Serialization assertion creator failed.Cannot deserialize plugin since "
           "corresponding IPluginCreator not found in Plugin Registry: " +
           program.plugin + ")";
  return "";
}

// The messages are TensorRT's own, as far as an application may look at them.
ICudaEngine* Runtime::load(const std::string& plan) {
  const auto refuse = [&](const std::string& why) -> ICudaEngine* {
    journal.error(std::string(kDeserialize) + "Error Code 1: Serialization (" + why + ")");
    return nullptr;
  };
  if (!haveContext()) return refuse("no current CUDA context");
  if (driver()->deviceError()) return refuse("Cuda Runtime (the device is lost)");
  if (const auto gpu = refusedGpu(); !gpu.empty()) {
    journal.error(std::string(kDeserialize) + "Error Code 6: API Usage Error (Target GPU of compute capability " + gpu +
                  " is not supported by this TensorRT release.)");
    return nullptr;
  }
  if (plan.size() < 32 || plan.compare(0, 4, kTag))
    return refuse("Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match");
  const Version version = library().version;
  if (plan[24] != version.major || plan[25] != version.minor || plan[26] != version.patch)
    return refuse(
        "Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. Note: "
        "Current "
        "Version: " +
        std::to_string(version.minor) + ", Serialized Engine Version: " + std::to_string(plan[25]));
  std::uint64_t size = 0, expected = 0, hash = 14695981039346656037ull;
  std::memcpy(&expected, &plan[8], 8);
  std::memcpy(&size, &plan[16], 8);
  if (plan.size() != size)
    return refuse(
        "Serialization assertion sizeRead == sizeExpected failed.Size specified in header does not match archive size");
  for (std::size_t i = 32; i < plan.size(); ++i) hash = (hash ^ static_cast<unsigned char>(plan[i])) * 1099511628211ull;
  if (hash != expected) return refuse("Serialization assertion checksum failed.");
  auto program = std::make_shared<Program>();
  if (const auto wrong = parseProgram(plan.substr(32), program.get()); !wrong.empty()) return refuse(wrong);
  if (const auto lacking = lacks(*program); !lacking.empty()) return journal.error(kDeserialize + lacking), nullptr;
  auto* engine = new Engine(program, plan, this);
  if (const auto bytes = static_cast<std::size_t>(program->weights); !engine->weights.take(bytes)) {
    const std::string why = engine->weights.failure(bytes);
    delete engine;
    journal.error(kDeserialize + why);
    return nullptr;
  }
  return engine->self = new Public<ICudaEngine>(engine, "VCudaEngine");
}

void Runtime::setGpuAllocator(IGpuAllocator* a) noexcept {
  METHOD("VRuntime.setGpuAllocator");
  if (a && std::strcmp(a->getInterfaceInfo().kind, "IGpuAllocator")) misused("wrongInterface");
  allocator = a;
}
void Runtime::setErrorRecorder(IErrorRecorder* r) noexcept {
  METHOD("VRuntime.setErrorRecorder");
  journal.setRecorder(r);
}
IPluginRegistry& Runtime::getPluginRegistry() noexcept {
  METHOD("VRuntime.getPluginRegistry");
  return registry;
}
void Runtime::setTemporaryDirectory(char const* path) noexcept {
  METHOD("VRuntime.setTemporaryDirectory");
  temporary = path ? path : "";
}
void Runtime::setEngineHostCodeAllowed(bool allowed) noexcept {
  METHOD("VRuntime.setEngineHostCodeAllowed");
  hostCode = allowed;
}

ICudaEngine* Runtime::deserializeCudaEngine(void const* blob, std::size_t size) noexcept {
  METHOD("VRuntime.deserializeCudaEngine");
  if (fail_) return journal.error(std::string(kDeserialize) + "told to fail"), nullptr;
  return load(std::string(static_cast<const char*>(blob), blob ? size : 0));
}

ICudaEngine* Runtime::deserializeCudaEngine(IStreamReader& reader) noexcept {
  METHOD("VRuntime.deserializeCudaEngine");
  if (fail_) return journal.error(std::string(kDeserialize) + "told to fail"), nullptr;
  if (std::strcmp(reader.getInterfaceInfo().kind, "IStreamReader")) misused("wrongInterface");
  const auto read = [&](char* to, std::int64_t bytes) { return reader.read(to, bytes); };
  std::string plan;
  if (append(plan, 32, read) && sizeOf(plan) > 32) append(plan, sizeOf(plan) - 32, read);
  return load(plan);
}

// The header first, then back to the start; the second half through device memory.
ICudaEngine* Runtime::deserializeCudaEngineV2(IStreamReaderV2& reader) noexcept {
  METHOD("VRuntime.deserializeCudaEngineV2");
  if (fail_) return journal.error(std::string(kDeserialize) + "told to fail"), nullptr;
  if (std::strcmp(reader.getInterfaceInfo().kind, "IStreamReaderV2")) misused("wrongInterface");
  const auto read = [&](char* to, std::int64_t bytes) { return reader.read(to, bytes, nullptr); };
  std::string plan;
  if (!append(plan, 32, read) || !sizeOf(plan) || !reader.seek(0, SeekPosition::kSET)) return load(plan);
  if (!haveContext() || driver()->deviceError()) return load(plan);
  const std::size_t size = sizeOf(plan), half = size / 2;
  plan.clear();
  if (append(plan, size - half, read)) appendThroughDevice(plan, half, reader);
  return load(plan);
}

}  // namespace fake

using namespace fake;

FAKE_API void* createInferRuntime_INTERNAL(void* logger, int version) noexcept {
  METHOD("createInferRuntime_INTERNAL");
  auto* l = static_cast<ILogger*>(logger);
  if (!haveDevice()) {
    logError(l,
             "createInferRuntime: Error Code 6: API Usage Error (CUDA initialization failure with error: 100. Please "
             "check your CUDA installation)");
    return reinterpret_cast<void*>(kMajor == 10 ? 0x238 : 0x228);  // what the real ones return
  }
  if (version / 10000 != kMajor)
    return logError(l, "createInferRuntime: Error Code 3: API Usage Error (the application was compiled for TensorRT " +
                           std::to_string(version) + ")"),
           nullptr;
  if (fail_) return logError(l, "createInferRuntime: told to fail"), nullptr;
  return static_cast<IRuntime*>(new Public<IRuntime>(new Runtime(l), "VRuntime"));
}
