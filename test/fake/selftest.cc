// The fakes, used from C++ as an application would: answers, order, errors. Exits with the number of failed checks.
// Usage: selftest10 BUILD-FOLDER
#include "selftest.h"

namespace fake {
void* trap(char const*, int, char const*) noexcept { return nullptr; }
}  // namespace fake

int checks = 0, failed = 0;
void* cudaLibrary;
Logger logger;

struct Monitor final : IProgressMonitor {
  int steps = 0, stopAfter = 1000, open = 0;
  APILanguage getAPILanguage() noexcept { return APILanguage::kCPP; }
  InterfaceInfo getInterfaceInfo() noexcept { return {"IProgressMonitor", 1, 0}; }
  void phaseStart(char const*, char const*, int32_t) noexcept { ++open; }
  bool stepComplete(char const*, int32_t) noexcept { return ++steps < stopAfter; }
  void phaseFinish(char const*) noexcept { --open; }
};

static void testStreams() {
  Handle a = 0, b = 0, start = 0, middle = 0, end = 0;
  CHECK(!cu("cuStreamCreate", &a, 1u) && !cu("cuStreamCreateWithPriority", &b, 1u, -1));
  CHECK(!cu("cuEventCreate", &start, 0u) && !cu("cuEventCreate", &middle, 0u) && !cu("cuEventCreate", &end, 0u));
  void *from = nullptr, *to = nullptr;
  Pointer device = 0;
  CHECK(!cu("cuMemHostAlloc", &from, std::size_t{64}, 1u) && !cu("cuMemHostAlloc", &to, std::size_t{64}, 1u) &&
        !cu("cuMemAlloc_v2", &device, std::size_t{64}));
  const auto htod = [&](Handle stream) {
    return cu("cuMemcpyHtoDAsync_v2", device, static_cast<const void*>(from), std::size_t{64}, stream);
  };
  const auto dtoh = [&](Handle stream) { return cu("cuMemcpyDtoHAsync_v2", to, device, std::size_t{64}, stream); };

  // Asynchronous, in order; pinned memory is read when the copy runs.
  set("copyMs", "100");
  std::memset(from, 1, 64);
  const auto began = Clock::now();
  CHECK(!cu("cuEventRecord", start, a) && !htod(a) && !cu("cuEventRecord", middle, a));
  CHECK(!cu("cuStreamWaitEvent", b, middle, 0u) && !dtoh(b) && !cu("cuEventRecord", end, b));
  CHECK(cu("cuStreamQuery", a) == 600 && cu("cuEventQuery", end) == 600);
  std::memset(from, 2, 64);
  CHECK(!cu("cuEventSynchronize", end));
  CHECK(milliseconds(began) >= 199 && static_cast<char*>(to)[63] == 2);
  float elapsed = 0;
  CHECK(!cu("cuEventElapsedTime", &elapsed, start, end) && elapsed > 199 && elapsed <= milliseconds(began));
  // Two streams overlap.
  CHECK(!htod(a) && !htod(b) && !cu("cuStreamSynchronize", a) && !cu("cuStreamSynchronize", b));
  CHECK(stat("peakConcurrent") == 2);
  // On the virtual clock nothing sleeps and times are exact.
  set("clock", "virtual");
  set("copyMs", "30");
  CHECK(!cu("cuCtxSynchronize"));
  cu("cuEventRecord", start, a);
  for (int i = 0; i < 20; ++i) htod(a);
  cu("cuEventRecord", end, a);
  CHECK(!cu("cuStreamSynchronize", a));
  CHECK(!cu("cuEventElapsedTime", &elapsed, start, end) && elapsed == 600);
  // On the manual clock it ends when it is told.
  set("clock", "manual");
  htod(a);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(cu("cuStreamQuery", a) == 600);
  set("advance", "1000000");
  CHECK(!cu("cuStreamSynchronize", a));
  reset();

  // Pageable memory is staged.
  std::vector<char> pageable(64, 5);
  CHECK(!cu("cuMemcpyHtoDAsync_v2", device, static_cast<const void*>(pageable.data()), std::size_t{64}, a));
  std::memset(pageable.data(), 6, 64);
  CHECK(!cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(pageable.data()), device, std::size_t{64}, a) &&
        pageable[0] == 5);

  // Capture and replay.
  Handle graph = 0, exec = 0;
  std::memset(from, 7, 64);
  CHECK(!cu("cuStreamBeginCapture_v2", a, 1) && !htod(a) && !dtoh(a));
  CHECK(static_cast<char*>(to)[0] != 7);
  CHECK(!cu("cuStreamEndCapture", a, &graph) && !cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull) &&
        !cu("cuGraphDestroy", graph));
  const double copied = stat("bytesHtoD");
  std::memset(from, 8, 64);
  CHECK(!cu("cuGraphLaunch", exec, b) && !cu("cuStreamSynchronize", b) && static_cast<char*>(to)[0] == 8 &&
        stat("bytesHtoD") == copied + 64);
  CHECK(!cu("cuGraphExecDestroy", exec) && cu("cuGraphExecDestroy", exec) == 1);
  // What capture forbids ends it.
  Pointer other = 0;
  CHECK(!cu("cuStreamBeginCapture_v2", a, 1) && cu("cuMemAlloc_v2", &other, std::size_t{8}) == 900);
  CHECK(cu("cuStreamEndCapture", a, &graph) == 901 && !graph);

  // A host function may not call CUDA.
  static std::atomic<int> inside{0};
  CHECK(!cu(
      "cuLaunchHostFunc", a, +[](void*) { inside = cu("cuStreamQuery", Handle{0}); }, static_cast<void*>(nullptr)));
  CHECK(!cu("cuStreamSynchronize", a) && inside == 800);

  // Misuse.
  CHECK(cu("cuStreamSynchronize", Handle{0x1234}) == 400 && cu("cuMemFree_v2", Pointer{0x10}) == 1);
  std::thread([&] { CHECK(cu("cuStreamQuery", a) == 201); }).join();
  CHECK(cu("cuMemcpyHtoDAsync_v2", device, static_cast<const void*>(from), std::size_t{65}, a) == 700 &&
        cu("cuStreamQuery", a) == 700);
  reset();
  CHECK(!cu("cuStreamQuery", a));
  set("fail", "cuMemAlloc_v2:2:2");
  CHECK(!cu("cuMemAlloc_v2", &other, std::size_t{8}) && cu("cuMemAlloc_v2", &other, std::size_t{8}) == 2);
  CHECK(!cu("cuMemFree_v2", other));
  set("failOperation", "1:719");
  htod(a);
  CHECK(cu("cuStreamSynchronize", a) == 719);
  reset();
  CHECK(!cu("cuStreamDestroy_v2", a) && cu("cuStreamDestroy_v2", a) == 400 && !cu("cuStreamDestroy_v2", b));
  for (const auto event : {start, middle, end}) CHECK(!cu("cuEventDestroy_v2", event));
  CHECK(!cu("cuMemFreeHost", from) && !cu("cuMemFreeHost", to) && !cu("cuMemFree_v2", device));
  CHECK(stat("streams") == 0 && stat("events") == 0 && stat("deviceBytes") == 0 && stat("pinnedBytes") == 0 &&
        stat("graphExecs") == 0);
}

static void testEngine(void* library) {
  auto* create = reinterpret_cast<void* (*)(void*, int)>(dlsym(library, "createInferRuntime_INTERNAL"));
  auto* runtime = static_cast<IRuntime*>(create(&logger, FAMILY == 10 ? 101501 : 110400));
  const auto load = [&](const std::string& bytes) {
    return runtime->mImpl->deserializeCudaEngine(bytes.data(), bytes.size());
  };
  const std::string bytes = plan(
      "name test\ninput x float32 -1,4 device 0 -1 1\noutput y float32 -1,4 device 0 -1 1\ndims 0 x 1,4 2,4 8,4\n"
      "op scale t x scale=2 offset=1\nop relu y t\n");
  CHECK(!load("nonsense, and long enough to have a header in it") &&
        logger.last.find("kMAGIC_TAG") != std::string::npos);
  CHECK(!load(bytes.substr(0, bytes.size() - 3)));
  std::string other = bytes;
  other[24] = 9;
  CHECK(!load(other) && logger.last.find("Version tag") != std::string::npos);
  auto* engine = load(bytes);
  CHECK(engine && engine->mImpl->getNbIOTensors() == 2 && !std::strcmp(engine->mImpl->getIOTensorName(0), "x"));
  CHECK(engine->mImpl->getTensorShape("y").d[0] == -1 &&
        engine->mImpl->getProfileShape("x", 0, OptProfileSelector::kMAX).d[0] == 8);
  auto* context = engine->mImpl->createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC);
  auto& c = *context->mImpl;
  Handle stream = 0;
  cu("cuStreamCreate", &stream, 1u);
  auto* queue = reinterpret_cast<cudaStream_t>(stream);
  CHECK(!c.enqueueV3(queue) && logger.last.find("allInputDimensionsSpecified") != std::string::npos);
  CHECK(!c.setInputShape("x", Dims{2, {-1, 4}}) && logger.last.find("satisfy") != std::string::npos);
  CHECK(!c.setInputShape("x", Dims{2, {2, 5}}) && c.setInputShape("x", Dims{2, {2, 4}}) &&
        c.getTensorShape("y").d[0] == 2);
  CHECK(!c.enqueueV3(queue) && logger.last.find("Address is not set") != std::string::npos);
  Pointer in = 0, out = 0;
  cu("cuMemAlloc_v2", &in, std::size_t{128}), cu("cuMemAlloc_v2", &out, std::size_t{128});
  CHECK(c.setInputTensorAddress("x", reinterpret_cast<void*>(in)) &&
        c.setTensorAddress("y", reinterpret_cast<void*>(out)));
  CHECK(!c.setTensorAddress("z", nullptr) && !c.setTensorAddress("y", reinterpret_cast<void*>(out + 4)));
  const float values[8] = {-3, -0.5f, 0, 1, 2, 3, 4, 5};
  cu("cuMemcpyHtoDAsync_v2", in, static_cast<const void*>(values), sizeof values, stream);
  CHECK(c.inferShapes(0, nullptr) == 0 && c.enqueueV3(queue));
  float answer[8] = {};
  cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(answer), out, sizeof answer, stream);
  for (int i = 0; i < 8; ++i) CHECK(answer[i] == std::max(0.0f, values[i] * 2 + 1));
  // The inputs may be overwritten after their event.
  Handle consumed = 0;
  cu("cuEventCreate", &consumed, 2u);
  set("computeMs", "100");
  CHECK(c.setInputConsumedEvent(reinterpret_cast<cudaEvent_t>(consumed)));
  const double before = stat("enqueues");
  const auto began = Clock::now();
  CHECK(c.enqueueV3(queue) && !cu("cuEventSynchronize", consumed) && cu("cuStreamQuery", stream) == 600 &&
        stat("enqueues") == before + 1);
  std::memset(reinterpret_cast<void*>(in), 0, 32);
  cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(answer), out, sizeof answer, stream);
  CHECK(answer[7] == 11 && milliseconds(began) >= 99);
  CHECK(c.setInputConsumedEvent(nullptr));
  set("computeMs", "0");
  // A captured execution, replayed with the same addresses.
  Handle graph = 0, exec = 0;
  cu("cuStreamBeginCapture_v2", stream, 1);
  CHECK(c.enqueueV3(queue) && !cu("cuStreamEndCapture", stream, &graph) &&
        !cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull));
  *reinterpret_cast<float*>(in) = 10;
  CHECK(!cu("cuGraphLaunch", exec, stream));
  cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(answer), out, sizeof answer, stream);
  CHECK(answer[0] == 21);
  cu("cuGraphExecDestroy", exec), cu("cuGraphDestroy", graph);
  // Two threads in one context at once.
  set("blockMs", "30");
  std::thread second([&] {
    void* context0 = nullptr;
    cu("cuDevicePrimaryCtxRetain", &context0, 0), cu("cuCtxSetCurrent", context0);
    c.enqueueV3(queue);
    cu("cuDevicePrimaryCtxRelease_v2", 0);
  });
  c.enqueueV3(queue);
  second.join();
  CHECK(statOf(library, "contextUsedByTwoThreads") == 1);
  reset();
  cu("cuStreamSynchronize", stream);
  delete context;
  delete engine;

  // Sizes that depend on data.
  engine = load(plan(
      "input x int32 -1,3 device 0 -1 1\noutput y int64 2,-1 device 0 -1 1\ndims 0 x 1,3 2,3 4,3\nop nonzero y x\n"));
  context = engine->mImpl->createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC);
  auto& d = *context->mImpl;
  CHECK(d.setInputShape("x", Dims{2, {2, 3}}) && d.getTensorShape("y").d[1] == -1 && d.getMaxOutputSize("y") == 96);
  Allocator allocator;
  const std::int32_t sparse[6] = {0, 5, 0, 1, 0, 2};
  std::memcpy(reinterpret_cast<void*>(in), sparse, sizeof sparse);
  CHECK(d.setInputTensorAddress("x", reinterpret_cast<void*>(in)) && d.setOutputAllocator("y", &allocator) &&
        d.enqueueV3(queue));
  std::int64_t found[6] = {};
  cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(found), allocator.memory, sizeof found, stream);
  CHECK(allocator.dims.d[1] == 3 && allocator.size == 48 && found[0] == 0 && found[1] == 1 && found[2] == 1 &&
        found[3] == 1 && found[5] == 2);
  cu("cuMemFree_v2", allocator.memory);
  delete context;
  delete engine;

  // A shape tensor, read on the host.
  engine =
      load(plan("input x float32 -1 device 0 -1 1\ninput s int64 2 host 0 -1 1\noutput y float32 -1,-1 device 0 -1 1\n"
                "dims 0 x 1 6 8\nvalues 0 s 1,1 2,3 4,4\nop reshape y x,s\n"));
  context = engine->mImpl->createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC);
  auto& e = *context->mImpl;
  std::int64_t wanted[2] = {3, 2};
  CHECK(engine->mImpl->getTensorLocation("s") == TensorLocation::kHOST &&
        engine->mImpl->getProfileTensorValuesV2("s", 0, OptProfileSelector::kMAX)[1] == 4);
  CHECK(e.setInputShape("x", Dims{1, {6}}) && e.inferShapes(0, nullptr) == 1 && e.setTensorAddress("s", wanted) &&
        e.inferShapes(0, nullptr) == 0);
  CHECK(e.getTensorShape("y").d[0] == 3 && e.setTensorAddress("x", reinterpret_cast<void*>(in)) &&
        e.setTensorAddress("y", reinterpret_cast<void*>(out)) && e.enqueueV3(queue));
  wanted[0] = 5;
  CHECK(e.inferShapes(0, nullptr) == -1 && !e.enqueueV3(queue));
  cu("cuStreamSynchronize", stream);
  delete context;
  delete engine;
  delete runtime;
  cu("cuEventDestroy_v2", consumed), cu("cuMemFree_v2", in), cu("cuMemFree_v2", out), cu("cuStreamDestroy_v2", stream);
  for (const char* kind : {"runtimes", "engines", "contexts", "hostMemories"}) CHECK(statOf(library, kind) == 0);
  CHECK(stat("deviceBytes") == 0 && stat("streams") == 0);
}

// A field of protobuf with a length, or a number.
static std::string field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
static std::string field(int number, int value) {
  return std::string(1, static_cast<char>(number << 3)) + static_cast<char>(value);
}

static std::string onnx(const char* op) {
  const auto port = [](const char* name) {
    const std::string shape = field(1, field(2, "n")) + field(1, field(1, 4));
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)));
  };
  const std::string half = field(1, 1) + field(2, 1) + field(8, "c") + field(9, std::string("\0\0\0\x3f", 4));
  const std::string first = field(1, "x") + field(1, "c") + field(2, "t") + field(4, "Mul");
  const std::string second = field(1, "t") + field(2, "y") + field(3, "last") + field(4, op);
  return field(1, 8) + field(7, field(1, first) + field(1, second) + field(2, "net") + field(5, half) +
                                    field(11, port("x")) + field(12, port("y")));
}

static void testBuilder(void* library, void* parserLibrary) {
  const int version = FAMILY == 10 ? 101501 : 110400;
  auto* create = reinterpret_cast<void* (*)(void*, int)>(dlsym(library, "createInferBuilder_INTERNAL"));
  auto* createParser =
      reinterpret_cast<void* (*)(void*, void*, int)>(dlsym(parserLibrary, "createNvOnnxParser_INTERNAL"));
  auto* builder = static_cast<IBuilder*>(create(&logger, version));
  const auto parse = [&](const std::string& bytes, INetworkDefinition* network, std::string* error) {
    auto* parser = static_cast<nvonnxparser::IParser*>(createParser(network, &logger, version));
    const bool fine = parser->parse(bytes.data(), bytes.size(), nullptr);
    if (!fine && parser->getNbErrors())
      *error = std::string(parser->getError(0)->nodeOperator()) + '|' + parser->getError(0)->desc();
    delete parser;
    return fine;
  };
  std::string error;
  auto* broken = builder->mImpl->createNetworkV2(0);
  CHECK(!parse(onnx("Relu").substr(0, 40), broken, &error));
  CHECK(!parse(onnx("Sorcery"), broken, &error) && error.find("Sorcery|") == 0);
  delete broken;
  auto* network = builder->mImpl->createNetworkV2(0);
  CHECK(parse(onnx("Relu"), network, &error) && network->mImpl->getNbInputs() == 1 &&
        network->mImpl->getNbLayers() == 2);
  CHECK(network->mImpl->getInput(0)->mImpl->getDimensions().d[0] == -1);
  auto* config = builder->mImpl->createBuilderConfig();
  CHECK(!builder->mImpl->buildSerializedNetwork(*network, *config) &&
        logger.last.find("no optimization profile") != std::string::npos);
  auto* profile = builder->mImpl->createOptimizationProfile();
  CHECK(profile->mImpl->setDimensions("x", OptProfileSelector::kMIN, Dims{2, {1, 4}}) &&
        profile->mImpl->setDimensions("x", OptProfileSelector::kMAX, Dims{2, {4, 4}}));
  CHECK(!profile->mImpl->isValid() && !profile->mImpl->setDimensions("x", OptProfileSelector::kOPT, Dims{2, {5, 4}}));
  CHECK(profile->mImpl->setDimensions("x", OptProfileSelector::kOPT, Dims{2, {2, 4}}) && profile->mImpl->isValid());
  CHECK(config->mImpl->addOptimizationProfile(profile) == 0);
  config->mImpl->setBuilderOptimizationLevel(4);
  config->mImpl->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 1 << 20);
  config->mImpl->setFlag(BuilderFlag::kTF32);
  Monitor monitor;
  config->mImpl->setProgressMonitor(&monitor);
  monitor.stopAfter = 3;
  CHECK(!builder->mImpl->buildSerializedNetwork(*network, *config) && monitor.steps == 3 && monitor.open == 0);
  monitor.stopAfter = 1000;
  auto* memory = builder->mImpl->buildSerializedNetwork(*network, *config);
  CHECK(memory && monitor.open == 0 && statOf(library, "setBuilderOptimizationLevel") == 4);
  if (memory) {
    auto* runtime = static_cast<IRuntime*>(
        reinterpret_cast<void* (*)(void*, int)>(dlsym(library, "createInferRuntime_INTERNAL"))(&logger, version));
    auto* engine = runtime->mImpl->deserializeCudaEngine(memory->mImpl->data(), memory->mImpl->size());
    CHECK(engine && engine->mImpl->getNbIOTensors() == 2 &&
          engine->mImpl->getProfileShape("x", 0, OptProfileSelector::kMAX).d[0] == 4);
    delete engine;
    delete runtime;
  }
  delete memory;
  delete config;
  delete network;
  delete builder;
  for (const char* kind : {"builders", "networks", "configs", "hostMemories"}) CHECK(statOf(library, kind) == 0);
  CHECK(statOf(parserLibrary, "parsers") == 0);
}

#if FAMILY == 10
// Posing as 10.0: what came later is a trap, what was there works, and plans of another version are refused.
static void testOlder(void* library) {
  const auto control = [&](const char* key, const char* value) {
    return reinterpret_cast<int (*)(const char*, const char*)>(dlsym(library, "fakeSet"))(key, value);
  };
  CHECK(control("version", "10.0.1") == 1 && control("version", "11.0.0") == 0);
  auto* runtime = static_cast<IRuntime*>(
      reinterpret_cast<void* (*)(void*, int)>(dlsym(library, "createInferRuntime_INTERNAL"))(&logger, 100001));
  const std::string body = fake::printProgram(
      program("name old\ninput x float32 4 device 0 -1 1\noutput y float32 4 device 0 -1 1\nop identity y x\n"));
  const std::string now = fake::wrapPlan(body, 10, 15, 1, 0), old = fake::wrapPlan(body, 10, 0, 1, 0);
  CHECK(!runtime->mImpl->deserializeCudaEngine(now.data(), now.size()));
  auto* engine = runtime->mImpl->deserializeCudaEngine(old.data(), old.size());
  CHECK(engine && engine->mImpl->getNbIOTensors() == 2);
  CHECK(engine && !engine->mImpl->getDeviceMemorySizeV2() && engine->mImpl->getDeviceMemorySize() == 4096);
  std::string text(1 << 20, '\0');
  reinterpret_cast<std::size_t (*)(char*, std::size_t)>(dlsym(library, "fakeStatsJson"))(text.data(), text.size());
  CHECK(text.find("VCudaEngine[52] getDeviceMemorySizeV2()") != std::string::npos);
  delete engine;
  delete runtime;
  reinterpret_cast<void (*)()>(dlsym(library, "fakeReset"))();
}
#endif

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? arguments[1] : ".";
  setenv("NODE_TENSORRT_LIBCUDA", (folder + "/libcuda.so.1").c_str(), 1);
  setenv("FAKE_CUDA_DEVICES", "2", 1);
  cudaLibrary = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW);
  const std::string family = std::to_string(FAMILY);
  void* library = dlopen((folder + "/trt" + family + "/libnvinfer.so." + family).c_str(), RTLD_NOW);
  void* parser = dlopen((folder + "/trt" + family + "/libnvonnxparser.so." + family).c_str(), RTLD_NOW);
  if (!cudaLibrary || !library || !parser) return std::printf("%s\n", dlerror()), 1;
  CHECK(cu("cuStreamQuery", Handle{0}) == 201);
  int devices = 0;
  CHECK(cu("cuDeviceGetCount", &devices) == 3);  // not initialised
  CHECK(!cu("cuInit", 0u) && !cu("cuDeviceGetCount", &devices) && devices == 2);
  void* context = nullptr;
  CHECK(!cu("cuDevicePrimaryCtxRetain", &context, 0) && !cu("cuCtxSetCurrent", context));
  testStreams();
  testEngine(library);
  testBuilder(library, parser);
  testReal(library, folder);
#if FAMILY == 10
  testOlder(library);
#endif
  CHECK(!cu("cuDevicePrimaryCtxRelease_v2", 0) && stat("contexts") == 0);
  std::printf("%d checks, %d failed\n", checks, failed);
  return failed != 0;
}
