// Execution contexts: what was bound, what is missing, and one operation on the stream for each enqueue.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <sstream>
#include <thread>

#include "job.h"
#include "runtime_config.h"

namespace fake {
namespace {

struct Context final : apiv::VExecutionContext, Counted {
  Engine* engine;
  std::shared_ptr<const Program> program;
  std::shared_ptr<std::atomic<int>> siblings;
  const Journal journal;
  const std::unique_ptr<Memory> own;  // null: the application gives it
  const std::unique_ptr<Memory> always;
  const std::shared_ptr<Jit> jit;  // null: it was made without a runtime configuration
  void* given = nullptr;
  std::int64_t givenBytes = -1;                    // -1: setDeviceMemory() does not tell
  std::optional<std::int64_t> neededForTheShapes;  // what updateDeviceMemorySizeForShapes() said of those that are set
  // Counts the changes after which a graph that was captured before is stale.
  std::shared_ptr<std::atomic<std::uint64_t>> state = std::make_shared<std::atomic<std::uint64_t>>(0);
  bool ranOnce = false;  // with these shapes
  IErrorRecorder* recorder = nullptr;
  IProfiler* profiler = nullptr;
  bool emits = true;
  std::size_t profiled = 0;  // executions that told a profiler
  std::string name;
  int32_t profile = 0;
  Shapes inputs;
  std::map<std::string, void*> addresses;
  std::map<std::string, IOutputAllocator*> allocators;
  cudaEvent_t consumed = nullptr;
  std::vector<cudaStream_t> auxiliary;
  std::size_t persistent = 0;
  ProfilingVerbosity verbosity = ProfilingVerbosity::kLAYER_NAMES_ONLY;
  SharedJob ready;  // until something changes
  std::atomic<std::thread::id> inside{};

  Context(Engine* e, std::unique_ptr<Memory> m, std::unique_ptr<Memory> p, std::shared_ptr<Jit> j)
      : Counted(kContexts),
        engine(e),
        program(e->program),
        siblings(e->contexts),
        journal(e->journal),
        own(std::move(m)),
        always(std::move(p)),
        jit(std::move(j)) {
    ++*siblings;
    resetShapes();
  }
  ~Context() {
    ++*state;
    if (own) own->release();
    always->release();
    --*siblings;
  }

  // A context belongs to one thread at a time: a second one inside is counted.
  struct Use {
    Context& context;
    bool mine = false;
    explicit Use(Context& c) : context(c) {
      auto nobody = std::thread::id();
      mine = context.inside.compare_exchange_strong(nobody, std::this_thread::get_id());
      if (!mine && nobody != std::this_thread::get_id()) {
        misused("contextUsedByTwoThreads");
        context.journal.error("IExecutionContext: used by two threads at once");
      }
    }
    ~Use() {
      if (mine) context.inside = std::thread::id();
    }
  };

  void resetShapes() {
    inputs.clear();
    for (const auto& p : program->ports)
      if (p.input && std::none_of(p.shape.begin(), p.shape.end(), [](auto e) { return e < 0; }))
        inputs[p.name] = p.shape;
    shapesChanged();
  }
  void shapesChanged() {
    neededForTheShapes.reset();
    ranOnce = false;
    changed();
  }
  void changed() {
    ready = nullptr;
    ++*state;
  }
  bool refuse(const char* method, const std::string& why) {
    journal.error(std::string("IExecutionContext::") + method +
                  ": Error Code 3: API Usage Error (Parameter check failed, " + why + ")");
    return false;
  }
  const Port* find(char const* tensor, const char* method) {
    const Port* found = tensor ? program->port(tensor) : nullptr;
    if (!found) refuse(method, std::string("given invalid tensor name: ") + (tensor ? tensor : "") + ")");
    return found;
  }
  bool complete() const {
    for (const auto& p : program->ports)
      if (p.input && !inputs.count(p.name)) return false;
    return true;
  }
  // Values of the host inputs that have an address and a shape.
  Values hostValues() const {
    Values out;
    for (const auto& p : program->ports) {
      const auto address = addresses.find(p.name);
      const auto shape = inputs.find(p.name);
      if (!p.input || !p.host || address == addresses.end() || !address->second || shape == inputs.end()) continue;
      const auto* bytes = static_cast<unsigned char*>(address->second);
      out[p.name] = {p.type, shape->second, {bytes, bytes + bytesFor(p.type, shape->second)}};
    }
    return out;
  }
  std::string shapes(Shapes* out, Shapes* largest = nullptr) const {
    return fake::inferShapes(*program, inputs, hostValues(), out, largest);
  }

  void setErrorRecorder(IErrorRecorder* r) noexcept { recorder = r; }
  IErrorRecorder* getErrorRecorder() noexcept { return recorder; }
  ICudaEngine const& getEngine() noexcept { return *engine->self; }
  void setName(char const* n) noexcept { name = n ? n : ""; }
  char const* getName() noexcept { return name.c_str(); }
  void setProfiler(IProfiler* p) noexcept {
    METHOD("VExecutionContext.setProfiler");
#if FAMILY != 10
    if (p && std::strcmp(p->getInterfaceInfo().kind, "IProfiler")) misused("wrongInterface");
#endif
    profiler = p;
  }
  IProfiler* getProfiler() noexcept { return profiler; }
  void setEnqueueEmitsProfile(bool e) noexcept {
    METHOD("VExecutionContext.setEnqueueEmitsProfile");
    emits = e;
  }
  bool getEnqueueEmitsProfile() noexcept { return emits; }
  void setDeviceMemory(void* m) noexcept {
    METHOD("VExecutionContext.setDeviceMemory");
    giveMemory(m, -1);
  }
  void setDeviceMemoryV2(void* m, int64_t size) noexcept {
    METHOD("VExecutionContext.setDeviceMemoryV2");
    giveMemory(m, std::max<std::int64_t>(size, 0));
  }
  void giveMemory(void* memory, std::int64_t bytes);
  std::size_t updateDeviceMemorySizeForShapes() noexcept;
  std::int64_t memoryNeeded() const { return neededForTheShapes.value_or(program->memoryOf(profile)); }
  bool memoryFits();
  int32_t getOptimizationProfile() noexcept { return profile; }
  bool allInputDimensionsSpecified() noexcept {
    METHOD("VExecutionContext.allInputDimensionsSpecified");
    return complete();
  }
  bool allInputShapesSpecified() noexcept { return complete(); }
  void setPersistentCacheLimit(std::size_t size) noexcept { persistent = size; }
  std::size_t getPersistentCacheLimit() noexcept { return persistent; }
  bool setNvtxVerbosity(ProfilingVerbosity v) noexcept { return verbosity = v, true; }
  ProfilingVerbosity getNvtxVerbosity() noexcept { return verbosity; }
  void setAuxStreams(cudaStream_t* streams, int32_t count) noexcept {
    METHOD("VExecutionContext.setAuxStreams");
    auxiliary.assign(streams, streams + std::max(count, 0));
  }

  bool setOptimizationProfileAsync(int32_t index, cudaStream_t) noexcept {
    METHOD("VExecutionContext.setOptimizationProfileAsync");
    Use use(*this);
    if (fail_) return refuse("setOptimizationProfileAsync", "told to fail");
    if (index < 0 || index >= static_cast<int32_t>(program->profiles.size()))
      return refuse("setOptimizationProfileAsync",
                    "condition: profileIndex >= 0 && profileIndex < mEngine.getNbOptimizationProfiles()");
    if (index != profile) {
      profile = index;
      resetShapes();
    }
    return true;
  }

  bool setInputShape(char const* tensor, Dims const& dims) noexcept {
    METHOD("VExecutionContext.setInputShape");
    Use use(*this);
    const Port* p = find(tensor, "setInputShape");
    if (!p || fail_) return false;
    if (!p->input) return refuse("setInputShape", std::string("condition: isInput. ") + tensor + " is not an input");
    const Shape shape = fromDims(dims);
    const auto same = inputs.find(p->name);
    if (same != inputs.end() && same->second == shape) return true;
    if (shape.size() != p->shape.size())
      return refuse("setInputShape",
                    "condition: engineDims.nbDims == dims.nbDims. Mismatched number of dimensions for " + p->name);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (p->shape[i] >= 0 && p->shape[i] != shape[i])
        return refuse(
            "setInputShape",
            "condition: engineDims.d[i] == dims.d[i]. Static dimension mismatch while setting input shape for " +
                p->name + ". Set dimensions are " + shapeText(dims) + ". Expected dimensions are " +
                shapeText(toDims(p->shape)) + ".");
      // what is outside of the profile is taken, and refused later
      if (shape[i] < 0)
        return refuse("setInputShape", "condition: satisfyProfile. Set dimension " + shapeText(dims) + " for tensor " +
                                           p->name + " does not satisfy any optimization profiles.");
    }
    inputs[p->name] = shape;
    shapesChanged();
    return true;
  }

  Dims getTensorShape(char const* tensor) noexcept {
    METHOD("VExecutionContext.getTensorShape");
    const Port* p = find(tensor, "getTensorShape");
    if (!p) return {-1, {}};
    if (p->input) {
      const auto set = inputs.find(p->name);
      return toDims(set == inputs.end() ? p->shape : set->second);
    }
    Shapes all;
    if (!complete() || !shapes(&all).empty()) return toDims(p->shape);
    return toDims(all[p->name]);
  }
  Dims getTensorStrides(char const* tensor) noexcept {
    METHOD("VExecutionContext.getTensorStrides");
    Dims dims = getTensorShape(tensor);
    int64_t stride = 1;
    for (int i = dims.nbDims - 1; i >= 0; --i) {
      const auto extent = dims.d[i];
      dims.d[i] = stride;
      stride = stride < 0 || extent < 0 ? -1 : stride * extent;
    }
    return dims;
  }

  bool bind(char const* tensor, void* data, const char* method, std::optional<bool> input) {
    Use use(*this);
    const Port* p = find(tensor, method);
    if (!p) return false;
    if (input && *input != p->input) return refuse(method, p->name + " is of the other direction");
    if (!p->host && reinterpret_cast<std::uintptr_t>(data) % 256) {
      misused("unalignedAddress");
      return refuse(method, "the address of " + p->name + " is not aligned to 256 bytes");
    }
    const auto [at, inserted] = addresses.emplace(p->name, data);
    if (!inserted && at->second == data) return true;
    at->second = data;
    ready = nullptr;
    return true;
  }
  bool setTensorAddress(char const* tensor, void* data) noexcept {
    METHOD("VExecutionContext.setTensorAddress");
    return !fail_ && bind(tensor, data, "setTensorAddress", std::nullopt);
  }
  bool setInputTensorAddress(char const* tensor, void const* data) noexcept {
    METHOD("VExecutionContext.setInputTensorAddress");
    return !fail_ && bind(tensor, const_cast<void*>(data), "setInputTensorAddress", true);
  }
  bool setOutputTensorAddress(char const* tensor, void* data) noexcept {
    METHOD("VExecutionContext.setOutputTensorAddress");
    return !fail_ && bind(tensor, data, "setOutputTensorAddress", false);
  }
  void* address(char const* tensor) {
    const auto found = addresses.find(tensor ? tensor : "");
    return found == addresses.end() ? nullptr : found->second;
  }
  void const* getTensorAddress(char const* tensor) noexcept { return address(tensor); }
  void* getOutputTensorAddress(char const* tensor) noexcept { return address(tensor); }

  int32_t inferShapes(int32_t most, char const** names) noexcept {
    METHOD("VExecutionContext.inferShapes");
    Use use(*this);
    if (fail_) return refuse("inferShapes", "told to fail"), -1;
    int32_t missing = 0;
    for (const auto& p : program->ports)
      if (p.input && (!inputs.count(p.name) || (p.host && !address(p.name.c_str())))) {
        if (missing < most && names) names[missing] = p.name.c_str();
        ++missing;
      }
    if (missing) return missing;
    Shapes all;
    if (!outside().empty()) return -1;  // the real one does not say why
    const std::string wrong = shapes(&all);
    if (!wrong.empty()) return refuse("inferShapes", wrong), -1;
    return 0;
  }
  // Of the profile: a shape or a value that was taken nevertheless. Empty when there is none.
  std::string outside() const {
    for (const auto& [tensor, range] : program->profiles[static_cast<std::size_t>(profile)].dims) {
      const auto found = inputs.find(tensor);
      for (std::size_t i = 0; found != inputs.end() && i < found->second.size(); ++i)
        if (found->second[i] < range.min[i] || found->second[i] > range.max[i])
          return "the shape of " + tensor + " is outside of profile " + std::to_string(profile);
    }
    return valuesOutside();
  }
  std::string valuesOutside() const {
    const auto& ranges = program->profiles[static_cast<std::size_t>(profile)].values;
    const auto values = hostValues();
    for (const auto& [tensor, range] : ranges) {
      const auto found = values.find(tensor);
      if (found == values.end()) continue;
      for (std::size_t i = 0; i < range.min.size() && i < static_cast<std::size_t>(count(found->second.shape)); ++i) {
        std::int64_t value = 0;
        const auto width = static_cast<std::size_t>(bitsOf(found->second.type) / 8);
        if (width == 4) {
          std::int32_t narrow;
          std::memcpy(&narrow, &found->second.bytes[i * 4], 4);
          value = narrow;
        } else {
          std::memcpy(&value, &found->second.bytes[i * width], width);
        }
        if (value < range.min[i] || value > range.max[i])
          return "shape tensor " + tensor + ": the value " + std::to_string(value) + " is outside of the profile's " +
                 std::to_string(range.min[i]) + ".." + std::to_string(range.max[i]);
      }
    }
    return "";
  }

  bool setInputConsumedEvent(cudaEvent_t event) noexcept {
    METHOD("VExecutionContext.setInputConsumedEvent");
    return fail_ ? false : (consumed = event, true);
  }
  cudaEvent_t getInputConsumedEvent() noexcept { return consumed; }
  bool setOutputAllocator(char const* tensor, IOutputAllocator* allocator) noexcept {
    METHOD("VExecutionContext.setOutputAllocator");
    const Port* p = find(tensor, "setOutputAllocator");
    if (!p || p->input || fail_) return false;
    if (allocator && std::strcmp(allocator->getInterfaceInfo().kind, "IOutputAllocator")) misused("wrongInterface");
    if (allocator)
      allocators[p->name] = allocator;
    else
      allocators.erase(p->name);
    ready = nullptr;
    return true;
  }
  IOutputAllocator* getOutputAllocator(char const* tensor) noexcept {
    const auto found = allocators.find(tensor ? tensor : "");
    return found == allocators.end() ? nullptr : found->second;
  }
  int64_t getMaxOutputSize(char const* tensor) noexcept {
    METHOD("VExecutionContext.getMaxOutputSize");
    const Port* p = find(tensor, "getMaxOutputSize");
    Shapes all, largest;
    if (!p || p->input || !complete() || !shapes(&all, &largest).empty()) return -1;
    const auto& bound = largest[p->name];
    if (std::any_of(bound.begin(), bound.end(), [](auto e) { return e < 0; })) return -1;
    return bytesFor(p->type, bound);
  }

  // Each operation's `ms`: one number, or one for each execution in turn. `reported`: a name of its own. With verbosity
  // kNONE a layer's name is its index.
  void reportTimes() {
    const bool named = program->verbosity != static_cast<int>(ProfilingVerbosity::kNONE);
    for (std::size_t i = 0; i < program->ops.size(); ++i) {
      const Op& op = program->ops[i];
      std::vector<float> times;
      const auto given = op.attributes.find("ms");
      std::istringstream in(given == op.attributes.end() ? "0.001" : given->second);
      for (std::string time; std::getline(in, time, ',');) times.push_back(std::strtof(time.c_str(), nullptr));
      const auto other = op.attributes.find("reported");
      const std::string& name = other == op.attributes.end() ? op.outputs[0] : other->second;
      profiler->reportLayerTime(named ? name.c_str() : std::to_string(i).c_str(), times[profiled % times.size()]);
    }
    ++profiled;
  }

  void* allocate(const Port& port, std::size_t bytes, cudaStream_t stream) {
    auto* allocator = allocators[port.name];
    return allocator->reallocateOutputAsync(port.name.c_str(), address(port.name.c_str()),
                                            std::max<std::size_t>(bytes, 1), 256, stream);
  }
  bool prepare(cudaStream_t stream);
  bool dataDependent(cudaStream_t stream);
  int writeHostOutputs(cudaStream_t stream);
  bool enqueueV3(cudaStream_t stream) noexcept;
};

void Context::giveMemory(void* memory, std::int64_t bytes) {
  Use use(*this);
  if (own) return misused("memoryForAContextThatHasItsOwn");
  if (reinterpret_cast<std::uintptr_t>(memory) % 256) return misused("unalignedAddress");
  if (memory == given && bytes == givenBytes) return;
  given = memory;
  givenBytes = bytes;
  changed();
}

// The profile's memory is for its largest shapes; smaller ones need a part of it, in proportion.
std::size_t Context::updateDeviceMemorySizeForShapes() noexcept {
  METHOD("VExecutionContext.updateDeviceMemorySizeForShapes");
  Use use(*this);
  if (fail_ || !complete()) return refuse("updateDeviceMemorySizeForShapes", "not all input shapes are specified"), 0;
  const auto& ranges = program->profiles[static_cast<std::size_t>(profile)].dims;
  std::int64_t elements = 0, most = 0;
  for (const auto& [tensor, shape] : inputs) {
    const auto range = ranges.find(tensor);
    elements += count(shape);
    most += count(range == ranges.end() ? shape : range->second.max);
  }
  const std::int64_t all = program->memoryOf(profile);
  const std::int64_t part = most > 0 ? (all * elements / most + 255) / 256 * 256 : all;
  const std::int64_t needed = std::min(std::max<std::int64_t>(part, 256), all);
  if (needed != memoryNeeded()) changed();
  neededForTheShapes = needed;
  return static_cast<std::size_t>(needed);
}

// What was freed is for the kernel to find.
bool Context::memoryFits() {
  const std::int64_t needed = memoryNeeded();
  if (needed == 0) return true;
  if (!given) {
    misused("enqueuedWithoutMemory");
    return refuse("enqueueV3", "the context has no device memory");
  }
  std::uint64_t number = 0;
  const auto there = static_cast<std::int64_t>(driver()->allocationAt(given, &number));
  const bool told = givenBytes < 0 || givenBytes >= needed;
  if (told && (there == 0 || there >= needed)) return true;
  misused("memoryTooSmall");
  return refuse("enqueueV3", "the device memory is smaller than the " + std::to_string(needed) + " bytes needed");
}

// Fills `ready`, or says what is missing.
bool Context::prepare(cudaStream_t stream) {
  const auto no = [&](const std::string& why) { return refuse("enqueueV3", why); };
  if (!complete()) return no("condition: allInputDimensionsSpecified(). Not all input dimensions are specified");
  auto job = std::make_shared<Job>();
  job->program = program;
  job->scratch = own ? own->get() : given;
  job->scratchBytes = static_cast<std::size_t>(memoryNeeded());
  Shapes all;
  job->host = hostValues();
  std::string wrong = outside();
  if (wrong.empty()) wrong = fake::inferShapes(*program, inputs, job->host, &all);
  if (!wrong.empty()) return no(wrong);
  for (const auto& p : program->ports) {
    void* data = address(p.name.c_str());
    if (p.input) {
      if (!data)
        return no("condition: getBinding. Address is not set for input tensor " + p.name +
                  ". Call setInputTensorAddress or setTensorAddress before enqueue/execute.");
      if (!p.host)
        job->inputs.push_back({&p, data, static_cast<std::size_t>(bytesFor(p.type, inputs[p.name])), inputs[p.name]});
      continue;
    }
    const auto& shape = all[p.name];
    const bool known = std::none_of(shape.begin(), shape.end(), [](auto e) { return e < 0; });
    const auto bytes = known ? static_cast<std::size_t>(bytesFor(p.type, shape)) : 0;
    if (getOutputAllocator(p.name.c_str())) {
      if (known && !program->dataDependent()) {
        data = allocate(p, bytes, stream);
        if (!data) return no("the output allocator gave no memory for " + p.name);
        allocators[p.name]->notifyShape(p.name.c_str(), toDims(shape));
      }
    } else if (!data) {
      return no("Neither address or allocator is set for output tensor " + p.name +
                ". Call setOutputTensorAddress, setTensorAddress or setOutputAllocator before enqueue/execute.");
    }
    job->outputs.push_back({&p, data, bytes, shape});
  }
  job->copy = program->ops.size() == 1 && program->ops[0].type == "identity" && job->inputs.size() == 1 &&
              job->outputs.size() == 1 && !job->outputs[0].port->host;
  ready = job;
  return true;
}

// Sizes that depend on data: the stream is waited for, as the real one does, and the allocators are asked.
bool Context::dataDependent(cudaStream_t stream) {
  if (driver()->streamSynchronize(stream)) return refuse("enqueueV3", "Cuda Runtime (the stream cannot be waited for)");
  auto values = std::make_unique<std::pair<Job, Values>>(*ready, Values{});
  if (!ready->readInputs(&values->second))
    return refuse("enqueueV3", "Cuda Runtime (an illegal memory access was encountered)");
  if (const auto wrong = evaluate(*program, &values->second); !wrong.empty()) return refuse("enqueueV3", wrong);
  for (auto& b : values->first.outputs) {
    const Value& value = values->second[b.port->name];
    if (!getOutputAllocator(b.port->name.c_str())) continue;
    b.address = allocate(*b.port, value.bytes.size(), stream);
    if (!b.address) return refuse("enqueueV3", "the output allocator gave no memory for " + b.port->name);
    allocators[b.port->name]->notifyShape(b.port->name.c_str(), toDims(value.shape));
  }
  using Both = std::pair<Job, Values>;
  return !driver()->enqueue(
      stream, [](void* data) { static_cast<Both*>(data)->first.write(static_cast<Both*>(data)->second); },
      values.release(), [](void* data) { delete static_cast<Both*>(data); }, program->compute);
}

// By shape inference, without the data; the stream writes them, as the rest.
int Context::writeHostOutputs(cudaStream_t stream) {
  struct Write {
    void* to;
    std::vector<unsigned char> bytes;
  };
  for (const auto& b : ready->outputs) {
    if (!b.port->host) continue;
    Values values = ready->host;
    for (const auto& in : ready->inputs)
      values[in.port->name] = {in.port->type, in.shape, std::vector<unsigned char>(in.bytes)};
    if (!evaluate(*program, &values).empty()) continue;
    const int result = driver()->enqueue(
        stream,
        [](void* data) {
          const auto* write = static_cast<Write*>(data);
          std::memcpy(write->to, write->bytes.data(), write->bytes.size());
        },
        new Write{b.address, values[b.port->name].bytes}, [](void* data) { delete static_cast<Write*>(data); }, -2);
    if (result) return result;
  }
  return 0;
}

bool Context::enqueueV3(cudaStream_t stream) noexcept {
  METHOD("VExecutionContext.enqueueV3");
  static const Teardown teardown;
  Use use(*this);
  if (fail_) return refuse("enqueueV3", "told to fail");
  if (!haveContext()) return refuse("enqueueV3", "Cuda Runtime (no current CUDA context)");
  if (const double block = driver()->blockMilliseconds(); block > 0) {
    // or until a test says that nothing is held up any more
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::milli>(block);
    for (auto left = end - std::chrono::steady_clock::now(); left.count() > 0 && driver()->blockMilliseconds() > 0;
         left = end - std::chrono::steady_clock::now())
      std::this_thread::sleep_for(std::min<decltype(left)>(left, std::chrono::milliseconds(1)));
  }
  if (driver()->deviceError()) return refuse("enqueueV3", "Cuda Runtime (an illegal memory access was encountered)");
  int capturing = 0;
  if (driver()->streamIsCapturing(stream, &capturing))
    return refuse("enqueueV3", "Cuda Runtime (invalid resource handle)");
  if (capturing && (consumed || !allocators.empty() || program->dataDependent())) misused("captureOfWhatCannotBe");
  if (static_cast<int>(auxiliary.size()) > 0 &&
      std::find(auxiliary.begin(), auxiliary.end(), stream) != auxiliary.end())
    misused("auxStreamIsMainStream");
  if (capturing && !ranOnce) misused("capturedBeforeItRan");  // TensorRT allocates at the first enqueue of a shape
  if (!own && !memoryFits()) return false;
  bool fresh = !ready || !allocators.empty();
  for (const auto& p : program->ports) fresh |= p.host;  // host values are read at every call
  if (fresh && !prepare(stream)) return false;
  Memory temporary(engine->allocator);
  const auto bytes = static_cast<std::size_t>(program->temporary);
  if (!capturing && !temporary.takeAsync(bytes, stream)) {
    journal.error("IExecutionContext::enqueueV3: " + temporary.failure(bytes));
    return false;
  }
  if (program->dataDependent()) return dataDependent(stream);
  int result;
  if (consumed) {
    auto split = std::make_shared<Split>();
    split->job = ready;
    using Shared = std::shared_ptr<Split>;
    const auto release = [](void* data) { delete static_cast<Shared*>(data); };
    result = driver()->enqueue(
        stream,
        [](void* data) {
          (*static_cast<Shared*>(data))->read =
              (*static_cast<Shared*>(data))->job->readInputs(&(*static_cast<Shared*>(data))->values);
        },
        new Shared(split), release, -2);
    if (!result) result = driver()->eventRecord(consumed, stream);
    if (!result)
      result = driver()->enqueue(
          stream,
          [](void* data) {
            Split& s = **static_cast<Shared*>(data);
            if (s.read && evaluate(*s.job->program, &s.values).empty()) s.job->write(s.values);
          },
          new Shared(split), release, program->compute);
  } else {
    result = capturing ? captureJob(stream, new Captured(ready, state), program->compute)
                       : enqueueJob(stream, ready, program->compute);
  }
  if (!result) result = writeHostOutputs(stream);
  if (result) return refuse("enqueueV3", "Cuda Runtime (error " + std::to_string(result) + ")");
  if (jit && !ranOnce) jit->specialize(engine->plan, inputs);
  ranOnce = ranOnce || !capturing;
  if (profiler && emits && !capturing) {
    driver()->streamSynchronize(stream);
    reportTimes();
  }
  return true;
}

}  // namespace

IExecutionContext* makeContext(Engine* engine, std::unique_ptr<Memory> memory, std::unique_ptr<Memory> persistent,
                               std::shared_ptr<Jit> jit) {
  return new Public<IExecutionContext>(new Context(engine, std::move(memory), std::move(persistent), std::move(jit)),
                                       "VExecutionContext");
}

}  // namespace fake
