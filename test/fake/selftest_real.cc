// What the real libraries do where one would guess otherwise (the end of shared/tensorrt/README.md), as the fakes do
// it.
#include <memory>

#include "selftest.h"

namespace {

// An engine with a context and memory for x and y of [-1, 4] float32, y = 2 x + 1.
struct Stand {
  void* library;
  IRuntime* runtime;
  ICudaEngine* engine = nullptr;
  IExecutionContext* context = nullptr;
  Handle stream = 0;
  Pointer x = 0, y = 0;

  explicit Stand(void* l) : library(l), runtime(makeRuntime(l)) {
    CHECK(!cu("cuStreamCreate", &stream, 1u) && !cu("cuMemAlloc_v2", &x, std::size_t{256}) &&
          !cu("cuMemAlloc_v2", &y, std::size_t{256}));
    std::memset(reinterpret_cast<void*>(x), 0, 256);
  }
  ~Stand() {
    delete context;
    delete engine;
    delete runtime;
    CHECK(!cu("cuMemFree_v2", x) && !cu("cuMemFree_v2", y) && !cu("cuStreamDestroy_v2", stream));
    CHECK(stat("deviceBytes") == 0);
    reset();
    resetOf(library);
  }
  static std::string lines(const std::string& more = "") {
    return "name test\n" + more +
           "input x float32 -1,4 device 0 -1 1\noutput y float32 -1,4 device 0 -1 1\ndims 0 x 1,4 2,4 8,4\n"
           "op scale y x scale=2 offset=1\n";
  }
  bool load(const std::string& text) {
    const std::string bytes = plan(text);
    engine = runtime->mImpl->deserializeCudaEngine(bytes.data(), bytes.size());
    return engine != nullptr;
  }
  bool open(ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC) {
    context = engine->mImpl->createExecutionContext(strategy);
    if (!context) return false;
    bind();
    return true;
  }
  void bind() {
    context->mImpl->setTensorAddress("x", reinterpret_cast<void*>(x));
    context->mImpl->setTensorAddress("y", reinterpret_cast<void*>(y));
  }
  bool shape(int64_t rows) { return context->mImpl->setInputShape("x", Dims{2, {rows, 4}}); }
  bool enqueue() { return context->mImpl->enqueueV3(reinterpret_cast<cudaStream_t>(stream)); }
  int settle() { return cu("cuStreamSynchronize", stream); }
  // An instantiated graph of one enqueue, or 0.
  Handle capture() {
    Handle graph = 0, exec = 0;
    cu("cuStreamBeginCapture_v2", stream, 1);
    enqueue();
    if (cu("cuStreamEndCapture", stream, &graph)) return 0;
    cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull);
    cu("cuGraphDestroy", graph);
    return exec;
  }
  void launch(Handle exec) { CHECK(!cu("cuGraphLaunch", exec, stream) && !settle()); }
  // How often something was misused, 0 for never.
  double misuse(const char* what) const { return std::max(statOf(library, what), 0.0); }
};

struct GpuAllocator final : IGpuAllocator {
  std::map<void*, std::size_t> live;
  int sync = 0, async = 0;
  bool empty = false;
  APILanguage getAPILanguage() noexcept { return APILanguage::kCPP; }
  InterfaceInfo getInterfaceInfo() noexcept { return {"IGpuAllocator", 1, 0}; }
  void* allocate(uint64_t const bytes, uint64_t const, AllocatorFlags const) noexcept {
    Pointer memory = 0;
    if (empty || cu("cuMemAlloc_v2", &memory, static_cast<std::size_t>(bytes))) return nullptr;
    ++sync;
    live[reinterpret_cast<void*>(memory)] = bytes;
    return reinterpret_cast<void*>(memory);
  }
  void* reallocate(void*, uint64_t, uint64_t) noexcept { return nullptr; }
  bool deallocate(void* const memory) noexcept {
    return live.erase(memory) == 1 && !cu("cuMemFree_v2", Pointer{reinterpret_cast<std::uintptr_t>(memory)});
  }
  void* allocateAsync(uint64_t const bytes, uint64_t const alignment, AllocatorFlags const flags,
                      cudaStream_t) noexcept {
    ++async;
    return allocate(bytes, alignment, flags);
  }
  bool deallocateAsync(void* const memory, cudaStream_t) noexcept { return deallocate(memory); }
};

void testUserMemory(void* library) {
  Stand s(library);
  CHECK(s.load(Stand::lines("memory 4096,1024\n") + "dims 1 x 1,4 1,4 2,4\n"));
  CHECK(s.engine->mImpl->getDeviceMemorySizeV2() == 4096 &&
        s.engine->mImpl->getDeviceMemorySizeForProfileV2(1) == 1024);
  CHECK(s.engine->mImpl->getDeviceMemorySizeForProfileV2(2) == 0);
  const double before = stat("deviceBytes");
  CHECK(s.open(ExecutionContextAllocationStrategy::kUSER_MANAGED) && stat("deviceBytes") == before);
  auto& c = *s.context->mImpl;
  CHECK(c.updateDeviceMemorySizeForShapes() == 0);  // before the shapes
  CHECK(s.shape(4) && !s.enqueue() && s.misuse("enqueuedWithoutMemory") == 1);
  Pointer scratch = 0;
  CHECK(!cu("cuMemAlloc_v2", &scratch, std::size_t{4096}));
  void* const memory = reinterpret_cast<void*>(scratch);
  c.setDeviceMemoryV2(memory, 2048);
  CHECK(!s.enqueue() && s.misuse("memoryTooSmall") == 1);
  // what the shapes need is less than what the profile may need
  CHECK(c.updateDeviceMemorySizeForShapes() == 2048 && s.enqueue());
  CHECK(s.shape(8) && !s.enqueue() && s.misuse("memoryTooSmall") == 2);
  c.setDeviceMemoryV2(memory, 4096);
  CHECK(s.enqueue() && !s.settle() && static_cast<unsigned char*>(memory)[4095] == 0x5c);
  c.setDeviceMemory(memory);
  CHECK(c.setOptimizationProfileAsync(1, nullptr) && s.shape(2) && s.enqueue() && !s.settle());
  CHECK(s.misuse("memoryTooSmall") == 2);
  // freed, and still used
  CHECK(!cu("cuMemFree_v2", scratch) && s.enqueue() && s.settle() == 700);
  reset();
}

void testAllocator(void* library) {
  GpuAllocator allocator;
  {
    Stand s(library);
    s.runtime->mImpl->setGpuAllocator(&allocator);
    CHECK(s.load(Stand::lines("memory 4096\nweights 512\n")) && allocator.sync == 1 && allocator.async == 0);
    CHECK(s.open() && allocator.async == 1 && allocator.live.size() == 2);
    CHECK(s.shape(1) && s.enqueue() && !s.settle());
    allocator.empty = true;
    CHECK(!s.engine->mImpl->createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC));
    CHECK(logger.last.find("Error Code 2: OutOfMemory (Requested size was 4096 bytes.)") != std::string::npos);
  }
  CHECK(allocator.live.empty());
}

void testStaleCaptures(void* library) {
  Stand s(library);
  CHECK(s.load(Stand::lines()) && s.open() && s.shape(2));
  Handle exec = s.capture();
  CHECK(s.misuse("capturedBeforeItRan") == 1);
  cu("cuGraphExecDestroy", exec);
  CHECK(s.enqueue() && !s.settle());
  exec = s.capture();
  CHECK(exec != 0 && s.misuse("capturedBeforeItRan") == 1);
  // Another address changes nothing for the graph, nor does what was set already.
  CHECK(s.context->mImpl->setTensorAddress("y", reinterpret_cast<void*>(s.x)) && s.shape(2));
  s.bind();
  *reinterpret_cast<float*>(s.x) = 3;
  s.launch(exec);
  CHECK(*reinterpret_cast<float*>(s.y) == 7 && s.misuse("staleGraphLaunched") == 0);
  // Another shape, even if the old one comes back.
  CHECK(s.shape(3) && s.shape(2));
  s.launch(exec);
  CHECK(s.misuse("staleGraphLaunched") == 1);
  cu("cuGraphExecDestroy", exec);
  // Memory of a tensor that was freed, though another allocation may have its address.
  CHECK(s.enqueue() && !s.settle());
  exec = s.capture();
  CHECK(!cu("cuMemFree_v2", s.y) && !cu("cuMemAlloc_v2", &s.y, std::size_t{256}));
  cu("cuGraphLaunch", exec, s.stream), s.settle(), reset();
  CHECK(s.misuse("staleGraphLaunched") == 2);
  cu("cuGraphExecDestroy", exec);
  // The context is gone.
  s.bind();
  CHECK(s.enqueue() && !s.settle());
  exec = s.capture();
  delete s.context;
  s.context = nullptr;
  cu("cuGraphLaunch", exec, s.stream), s.settle(), reset();
  CHECK(s.misuse("staleGraphLaunched") == 3);
  cu("cuGraphExecDestroy", exec);
}

void testLateRefusals(void* library) {
  Stand s(library);
  CHECK(s.load("input x float32 -1 device 0 -1 1\ninput s int64 1 host 0 -1 1\noutput y float32 -1 device 0 -1 1\n"
               "dims 0 x 1 6 8\nvalues 0 s 1 6 8\nop reshape y x,s\n") &&
        s.open());
  auto& c = *s.context->mImpl;
  std::int64_t wanted = 9;
  CHECK(c.setTensorAddress("s", &wanted) && c.setInputShape("x", Dims{1, {9}}));
  logger.last.clear();
  CHECK(c.inferShapes(0, nullptr) != 0 && logger.last.empty() && !s.enqueue());
  wanted = 8;
  CHECK(c.setInputShape("x", Dims{1, {8}}) && c.inferShapes(0, nullptr) == 0 && s.enqueue() && !s.settle());
  // the values of a shape tensor likewise
  wanted = 9;
  logger.last.clear();
  CHECK(c.inferShapes(0, nullptr) != 0 && logger.last.empty() && !s.enqueue());
}

void testOutOfMemory(void* library) {
  const auto said = [](const char* bytes) {
    return logger.last.find(std::string("Error Code 2: OutOfMemory (Requested size was ") + bytes + " bytes.)") !=
           std::string::npos;
  };
  Stand s(library);
  set("memory", "2000");
  CHECK(!s.load(Stand::lines("weights 3000\n")) && said("3000"));
  CHECK(s.load(Stand::lines("weights 1000\nmemory 5000\ntemporary 6000\n")));
  CHECK(!s.open() && said("5000"));
  set("memory", "8000");
  CHECK(s.open() && s.shape(1) && !s.enqueue() && said("6000"));
  set("memory", "16000");
  CHECK(s.enqueue() && !s.settle());
}

// A stripped plan, and plans of the other kinds of refitting.
void testRefit(void* library) {
  Stand s(library);
  auto* make = reinterpret_cast<void* (*)(void*, void*, int)>(dlsym(library, "createInferRefitter_INTERNAL"));
  const auto lines = [](const char* refit, const char* w) {
    return std::string("refit ") + refit + "\nconst w float32 4,4 " + w + "\nconst b float32 4 " +
           std::string(32, '1') +
           "\ninput x float32 -1,4 device 0 -1 1\noutput y float32 -1,4 device 0 -1 1\ndims 0 x 1,4 2,4 8,4\n"
           "op matmul t x,w\nop add y t,b\n";
  };
  CHECK(s.load(lines("0", "-")) && !s.engine->mImpl->isRefittable() && !make(s.engine, &logger, kVersion));
  CHECK(logger.last.find("kREFIT_NONE") != std::string::npos);
  delete s.engine;
  CHECK(s.load(lines("1", "-")) && s.engine->mImpl->isRefittable());
  delete s.engine;
  CHECK(s.load(lines("3", std::string(128, '1').c_str())) && !s.engine->mImpl->isRefittable());
  CHECK(s.engine->mImpl->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE) == -1);
  delete s.engine;
  CHECK(s.load(lines("2", "-")) && !s.engine->mImpl->isRefittable());
  CHECK(s.engine->mImpl->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE) == 64 &&
        s.engine->mImpl->getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE) == 80);
  auto* refitter = static_cast<IRefitter*>(make(s.engine, &logger, kVersion));
  CHECK(refitter && refitter->mImpl->getAllWeights(0, nullptr) == 2 &&
        refitter->mImpl->getMissingWeights(0, nullptr) == 0);
  // it runs on empty weights
  CHECK(s.open() && s.shape(1) && s.enqueue() && !s.settle());
  delete s.context;
  s.context = nullptr;
  const float bias[4] = {1, 2, 3, 4};
  const Weights weights{DataType::kFLOAT, bias, 4};
  const char* missing = nullptr;
  CHECK(refitter->mImpl->setNamedWeights("b", weights) && refitter->mImpl->getMissingWeights(1, &missing) == 1 &&
        missing && !std::strcmp(missing, "w"));
  delete refitter;
}

struct Recorder final : IErrorRecorder {
  std::vector<std::string> errors;
  std::vector<ErrorCode> codes;
  int references = 0;
  APILanguage getAPILanguage() noexcept { return APILanguage::kCPP; }
  InterfaceInfo getInterfaceInfo() noexcept { return {"IErrorRecorder", 1, 0}; }
  int32_t getNbErrors() noexcept { return static_cast<int32_t>(errors.size()); }
  ErrorCode getErrorCode(int32_t i) noexcept { return codes[static_cast<std::size_t>(i)]; }
  ErrorDesc getErrorDesc(int32_t i) noexcept { return errors[static_cast<std::size_t>(i)].c_str(); }
  bool hasOverflowed() noexcept { return false; }
  void clear() noexcept { errors.clear(), codes.clear(); }
  bool reportError(ErrorCode code, ErrorDesc text) noexcept {
    errors.emplace_back(text), codes.push_back(code);
    return false;
  }
  int32_t incRefCount() noexcept { return ++references; }
  int32_t decRefCount() noexcept { return --references; }
};

void testNeeds(void* library, const std::string& folder) {
  Recorder recorder;
  {
    Stand s(library);
    auto& runtime = *s.runtime->mImpl;
    runtime.setErrorRecorder(&recorder);
    CHECK(recorder.references == 1 && runtime.getErrorRecorder() == &recorder);
    runtime.setTemporaryDirectory("/var/tmp");
    CHECK(!std::strcmp(runtime.getTemporaryDirectory(), "/var/tmp"));
    logger.last.clear();
    CHECK(!s.load(Stand::lines("hostcode 1\n")) && logger.last.empty());
    CHECK(recorder.getNbErrors() == 1 && recorder.errors[0].find("setEngineHostCodeAllowed") != std::string::npos);
    CHECK(recorder.codes[0] == ErrorCode::kINVALID_ARGUMENT);
    runtime.setEngineHostCodeAllowed(true);
    CHECK(s.load(Stand::lines("hostcode 1\n")));
    delete s.engine;
    const std::string needy = Stand::lines("plugin NodeTensorRTNone\n");
    CHECK(!s.load(needy) && recorder.errors[1].find("IPluginCreator not found") != std::string::npos);
    auto& plugins = runtime.getPluginRegistry();
    CHECK(!plugins.loadLibrary((folder + "/libcuda.so.1").c_str()));
    void* const handle = plugins.loadLibrary((folder + "/libplugin.so").c_str());
    CHECK(handle && s.load(needy));
    delete s.engine;
    CHECK(!s.load(Stand::lines("plugin Another\n")));
    // errors of what came from the runtime, too
    CHECK(s.load(Stand::lines()) && s.open());
    recorder.clear();
    CHECK(!s.enqueue() && recorder.getNbErrors() == 1);
  }
  CHECK(recorder.references == 0);
}

struct Reader final : IStreamReaderV2 {
  std::string bytes;
  std::size_t at = 0;
  int seeks = 0;
  bool byHost = false;
  APILanguage getAPILanguage() noexcept { return APILanguage::kCPP; }
  InterfaceInfo getInterfaceInfo() noexcept { return {"IStreamReaderV2", 1, 0}; }
  int64_t read(void* to, int64_t size, cudaStream_t stream) noexcept {
    const std::size_t got = std::min(static_cast<std::size_t>(size), bytes.size() - at);
    unsigned kind = 0;
    const bool device =
        !cu("cuPointerGetAttribute", static_cast<void*>(&kind), 2, reinterpret_cast<Pointer>(to)) && kind == 2;
    if (device && !byHost)
      cu("cuMemcpyHtoDAsync_v2", reinterpret_cast<Pointer>(to), static_cast<const void*>(&bytes[at]), got,
         reinterpret_cast<Handle>(stream));
    else
      std::memcpy(to, &bytes[at], got);
    at += got;
    return static_cast<int64_t>(got);
  }
  bool seek(int64_t offset, SeekPosition) noexcept { return at = static_cast<std::size_t>(offset), ++seeks, true; }
};
struct OldReader final : IStreamReader {
  Reader all;
  APILanguage getAPILanguage() noexcept { return APILanguage::kCPP; }
  InterfaceInfo getInterfaceInfo() noexcept { return {"IStreamReader", 1, 0}; }
  int64_t read(void* to, int64_t size) noexcept { return all.read(to, size, nullptr); }
};

void testReaders(void* library) {
  Stand s(library);
  Reader reader;
  reader.bytes = plan(Stand::lines());
  s.engine = s.runtime->mImpl->deserializeCudaEngineV2(reader);
  CHECK(s.engine && reader.at == reader.bytes.size() && reader.seeks == 1);
  CHECK(s.misuse("deviceMemoryWrittenByTheHost") == 0);
  delete s.engine;
  reader.at = 0, reader.byHost = true;
  s.engine = s.runtime->mImpl->deserializeCudaEngineV2(reader);
  CHECK(s.engine && s.misuse("deviceMemoryWrittenByTheHost") == 1);
  reader.at = 0, reader.bytes.resize(60);
  CHECK(!s.runtime->mImpl->deserializeCudaEngineV2(reader));
#if FAMILY == 10
  delete s.engine;
  OldReader old;
  old.all.bytes = plan(Stand::lines());
  s.engine = s.runtime->mImpl->deserializeCudaEngine(old);
  CHECK(s.engine && old.all.at == old.all.bytes.size());
#endif
}

void testGpusAndTimes(void* library) {
  Stand s(library);
  setOf(library, "refuses", "7.5,9.0");
  CHECK(!s.load(Stand::lines()) && logger.last.find("9.0 is not supported") != std::string::npos);
  setOf(library, "refuses", "7.5");
  CHECK(s.load(Stand::lines()));
  setOf(library, "compileMs", "50");
  auto began = Clock::now();
  CHECK(s.open() && milliseconds(began) >= 49);
  auto* create = reinterpret_cast<void* (*)(void*, int)>(dlsym(library, "createInferBuilder_INTERNAL"));
  setOf(library, "builderStartMs", "50");
  setOf(library, "builderResource", "missing");
  began = Clock::now();
  auto* builder = static_cast<IBuilder*>(create(&logger, kVersion));
  CHECK(milliseconds(began) >= 49);
#if FAMILY == 10
  auto* network = builder->mImpl->createNetworkV2(0);
  auto* config = builder->mImpl->createBuilderConfig();
  CHECK(!builder->mImpl->buildSerializedNetwork(*network, *config));
  delete config;
  delete network;
  delete builder;
#else
  CHECK(!builder);
#endif
  CHECK(logger.last.find("Unable to load library: libnvinfer_builder_resource_sm90.so") != std::string::npos);
}

// Needs two devices.
void testDevices() {
  void *first = nullptr, *second = nullptr, *now = nullptr;
  CHECK(!cu("cuDevicePrimaryCtxRetain", &first, 0) && !cu("cuDevicePrimaryCtxRetain", &second, 1));
  set("deviceNames", "Small,Large");
  set("computeCapability", "8.6,12.1");
  char name[32];
  CHECK(!cu("cuDeviceGetName", name, 32, 1) && !std::strcmp(name, "Large"));
  int major = 0, minor = 0;
  CHECK(!cu("cuDeviceGetAttribute", &major, 75, 1) && !cu("cuDeviceGetAttribute", &minor, 76, 1) && major == 12);
  CHECK(minor == 1 && !cu("cuDeviceGetAttribute", &major, 75, 0) && major == 8);
  CHECK(!cu("cuCtxSetCurrent", first) && !cu("cuCtxPushCurrent_v2", second) && !cu("cuCtxGetCurrent", &now));
  CHECK(now == second && !cu("cuCtxPopCurrent_v2", &now) && now == second && !cu("cuCtxGetCurrent", &now) &&
        now == first);
  Pointer here = 0, there = 0;
  Handle stream = 0;
  CHECK(!cu("cuMemAlloc_v2", &here, std::size_t{64}) && !cu("cuStreamCreate", &stream, 1u));
  CHECK(!cu("cuCtxPushCurrent_v2", second) && !cu("cuMemAlloc_v2", &there, std::size_t{64}));
  // Still on its way when the memory is freed from the other device: freeing waits for the device that it is of.
  const std::vector<unsigned char> host(64);
  set("copyMs", "50");
  CHECK(!cu("cuMemcpyHtoDAsync_v2", there, host.data(), std::size_t{64}, Handle{0}) && stat("wrongDevice") == 0);
  CHECK(!cu("cuCtxPopCurrent_v2", &now) && !cu("cuMemFree_v2", there) && stat("wrongDevice") == 1);
  set("copyMs", "0");
  CHECK(!cu("cuCtxPushCurrent_v2", second) && !cu("cuCtxSynchronize") &&
        !cu("cuMemsetD8Async", here, static_cast<unsigned char>(1), std::size_t{64}, stream));
  CHECK(stat("wrongDevice") == 2 && !cu("cuCtxPopCurrent_v2", &now));
  unsigned kind = 0;
  CHECK(!cu("cuPointerGetAttribute", static_cast<void*>(&kind), 2, here) && kind == 2);
  CHECK(cu("cuPointerGetAttribute", static_cast<void*>(&kind), 2,
           static_cast<Pointer>(reinterpret_cast<std::uintptr_t>(name))) == 1);
  const char* word = nullptr;
  CHECK(!cu("cuGetErrorName", 226, &word) && !std::strcmp(word, "CUDA_ERROR_CONTAINED") &&
        !cu("cuGetErrorName", 810, &word));
  CHECK(!cu("cuMemFree_v2", here) && !cu("cuStreamDestroy_v2", stream));
  CHECK(!cu("cuDevicePrimaryCtxRelease_v2", 0) && !cu("cuDevicePrimaryCtxRelease_v2", 1));
  reset();
}

}  // namespace

void testReal(void* library, const std::string& folder) {
  testUserMemory(library);
  testAllocator(library);
  testStaleCaptures(library);
  testLateRefusals(library);
  testOutOfMemory(library);
  testRefit(library);
  testNeeds(library, folder);
  testReaders(library);
  testGpusAndTimes(library);
  testDevices();
}
