#include "runtime_config.h"

#include <sstream>

namespace fake {
namespace {

std::uint64_t hashOfText(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

#if FAMILY == 17
// What a serialized cache is for: another version, and another GPU, refuse it.
std::string place() {
  std::lock_guard lock(library().mutex);
  const Version& version = library().version;
  return "fake runtime cache of " + std::to_string(version.number()) + " for " + library().settings.device + "\n";
}

struct RuntimeCache final : apiv::VRuntimeCache, Counted {
  const Journal journal;
  const std::shared_ptr<Kernels> kernels = std::make_shared<Kernels>();
  explicit RuntimeCache(const Journal& j) : Counted(kRuntimeCaches), journal(j) {}
  ~RuntimeCache() {
    kernels->freed = true;
    if (kernels->contexts) misused("runtimeCacheDestroyedBeforeContext");
  }

  IHostMemory* serialize() noexcept {
    METHOD("VRuntimeCache.serialize");
    if (fail_) return journal.error("IRuntimeCache::serialize: told to fail"), nullptr;
    std::ostringstream out;
    out << place();
    std::lock_guard lock(kernels->mutex);
    for (const auto kernel : kernels->known) out << kernel << '\n';
    out << "end\n";
    return hostMemory(out.str());
  }
  bool deserialize(void const* blob, std::size_t size) noexcept {
    METHOD("VRuntimeCache.deserialize");
    const auto refuse = [&](const char* why) {
      return journal.error(std::string("IRuntimeCache::deserialize: Error Code 3: API Usage Error (") + why + ")"),
             false;
    };
    if (fail_) return refuse("told to fail");
    std::istringstream in(std::string(static_cast<const char*>(blob), size));
    std::string line;
    if (!std::getline(in, line) || line + "\n" != place()) return refuse("it is for another version or GPU");
    std::set<std::uint64_t> found;
    while (std::getline(in, line) && line != "end") found.insert(std::strtoull(line.c_str(), nullptr, 10));
    if (line != "end") return refuse("it is damaged");
    std::lock_guard lock(kernels->mutex);
    kernels->known.insert(found.begin(), found.end());
    return true;
  }
  bool reset() noexcept {
    METHOD("VRuntimeCache.reset");
    std::lock_guard lock(kernels->mutex);
    return kernels->known.clear(), !fail_;
  }
};
#endif

struct RuntimeConfig final : apiv::VRuntimeConfig, Counted {
  const Journal journal;
  const std::shared_ptr<std::atomic<int>> siblings, contexts = std::make_shared<std::atomic<int>>(0);
  ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC;
  bool graphs = false;
  std::shared_ptr<Kernels> kernels;

  explicit RuntimeConfig(Engine* engine)
      : Counted(kRuntimeConfigs), journal(engine->journal), siblings(engine->configs) {
    ++*siblings;
  }
  ~RuntimeConfig() {
    if (*contexts) misused("runtimeConfigDestroyedBeforeContext");
    --*siblings;
  }

  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy s) noexcept {
    METHOD("VRuntimeConfig.setExecutionContextAllocationStrategy");
    strategy = s;
  }
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() noexcept { return strategy; }

#if FAMILY == 17
  IRuntimeCache* cache = nullptr;
  DynamicShapesKernelSpecializationStrategy specialization = DynamicShapesKernelSpecializationStrategy::kLAZY;
  IRuntimeCache* createRuntimeCache() noexcept {
    METHOD("VRuntimeConfig.createRuntimeCache");
    if (fail_) return journal.error("IRuntimeConfig::createRuntimeCache: told to fail"), nullptr;
    return new Public<IRuntimeCache>(new RuntimeCache(journal), "VRuntimeCache");
  }
  bool setRuntimeCache(IRuntimeCache const& given) noexcept {
    METHOD("VRuntimeConfig.setRuntimeCache");
    if (fail_) return journal.error("IRuntimeConfig::setRuntimeCache: told to fail"), false;
    cache = const_cast<IRuntimeCache*>(&given);
    kernels = implementation<IRuntimeCache const, RuntimeCache>(&given)->kernels;
    return true;
  }
  IRuntimeCache* getRuntimeCache() noexcept { return cache; }
  void setDynamicShapesKernelSpecializationStrategy(DynamicShapesKernelSpecializationStrategy s) noexcept {
    specialization = s;
  }
  DynamicShapesKernelSpecializationStrategy getDynamicShapesKernelSpecializationStrategy() noexcept {
    return specialization;
  }
  bool setCudaGraphStrategy(CudaGraphStrategy wanted) noexcept {
    METHOD("VRuntimeConfig.setCudaGraphStrategy");
    if (fail_ || !knows("CudaGraphStrategy", static_cast<int>(wanted)))
      return journal.error("IRuntimeConfig::setCudaGraphStrategy: told to fail"), false;
    graphs = wanted == CudaGraphStrategy::kWHOLE_GRAPH_CAPTURE;
    return true;
  }
  CudaGraphStrategy getCudaGraphStrategy() noexcept {
    return graphs ? CudaGraphStrategy::kWHOLE_GRAPH_CAPTURE : CudaGraphStrategy::kDISABLED;
  }
#endif
};

}  // namespace

void Jit::specialize(const std::string& plan, const Shapes& inputs) {
  if (!kernels) return;
  if (kernels->freed) return misused("runtimeCacheUsedAfterItsEnd");
  std::string text = plan;
  for (const auto& [tensor, shape] : inputs) text += tensor + shapeText(toDims(shape));
  kernels->add(hashOfText(text));
}

// One that waits for itself goes on after a while, and sees that.
static void hold() {
  const auto isHeld = [] {
    std::lock_guard lock(library().mutex);
    return library().settings.holdContexts != 0;
  };
  for (int i = 0; i < 5000 && isHeld(); ++i) wait(1);
}

void compileFor(const std::string& plan, Jit* jit) {
  hold();
  Kernels* const kernels = jit ? jit->kernels.get() : nullptr;
  if (kernels && kernels->has(hashOfText(plan))) return;
  double milliseconds;
  {
    std::lock_guard lock(library().mutex);
    milliseconds = library().settings.compileMs;
  }
  wait(milliseconds);
  ++library().compiles;
  if (kernels) kernels->add(hashOfText(plan));
}

IRuntimeConfig* Engine::createRuntimeConfig() noexcept {
  METHOD("VCudaEngine.createRuntimeConfig");
  if (fail_) return journal.error("ICudaEngine::createRuntimeConfig: told to fail"), nullptr;
  return new Public<IRuntimeConfig>(new RuntimeConfig(this), "VRuntimeConfig");
}

IExecutionContext* Engine::createExecutionContextWithRuntimeConfig(IRuntimeConfig* given) noexcept {
  METHOD("VCudaEngine.createExecutionContextWithRuntimeConfig");
  if (fail_ || !given)
    return journal.error("ICudaEngine::createExecutionContextWithRuntimeConfig: told to fail"), nullptr;
  auto* config = implementation<IRuntimeConfig, RuntimeConfig>(given);
  if (config->kernels && config->kernels->freed) misused("runtimeCacheUsedAfterItsEnd");
  auto* context = create(config->strategy != ExecutionContextAllocationStrategy::kUSER_MANAGED,
                         std::make_shared<Jit>(config->kernels, config->contexts));
  if (context && config->graphs) ++library().withGraphs;
  return context;
}

}  // namespace fake
