// The fake builder: checks profiles as the real one does, reports progress, writes a plan.
#include <algorithm>

#include "calibration.h"
#include "config.h"
#include "deaths.h"
#include "network.h"
#include "plugins.h"

namespace fake {
namespace {

struct Builder final : apiv::VBuilder, Counted {
  ILogger* logger;
  IBuilder* self = nullptr;
  IErrorRecorder* recorder = nullptr;
  int threads = 1;
  std::shared_ptr<int> alive = std::make_shared<int>();
  std::vector<std::unique_ptr<Public<IOptimizationProfile>>> profiles;  // owned by the builder, as in the real one
  PluginRegistry registry;
  explicit Builder(ILogger* l) : Counted(kBuilders), logger(l), registry(Journal{l}) {}
  IPluginRegistry& getPluginRegistry() noexcept {
    METHOD("VBuilder.getPluginRegistry");
    return registry;
  }

  bool platformHasFastFp16() noexcept { return true; }
  bool platformHasFastInt8() noexcept { return true; }
  bool platformHasTf32() noexcept { return true; }
  int32_t getMaxDLABatchSize() noexcept { return 0; }
  int32_t getNbDLACores() noexcept { return 0; }
  IBuilderConfig* createBuilderConfig() noexcept {
    METHOD("VBuilder.createBuilderConfig");
    if (fail_) return nullptr;
    auto* config = new Config(logger);
    config->builder = alive;
    return new Public<IBuilderConfig>(config, "VBuilderConfig");
  }
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
    METHOD("VBuilder.createNetworkV2");
    return fail_ ? nullptr : new Public<INetworkDefinition>(new Network(self, logger, flags), "VNetworkDefinition");
  }
  IOptimizationProfile* createOptimizationProfile() noexcept {
    METHOD("VBuilder.createOptimizationProfile");
    if (fail_) return nullptr;
    profiles.push_back(
        std::make_unique<Public<IOptimizationProfile>>(new OptimizationProfile(logger), "VOptimizationProfile"));
    return profiles.back().get();
  }
  void setErrorRecorder(IErrorRecorder* r) noexcept { recorder = r; }
  IErrorRecorder* getErrorRecorder() noexcept { return recorder; }
  void reset() noexcept { profiles.clear(); }
  ILogger* getLogger() noexcept { return logger; }
  bool setMaxThreads(int32_t n) noexcept { return n > 0 ? (threads = n, true) : false; }
  int32_t getMaxThreads() noexcept { return threads; }
  bool isNetworkSupported(INetworkDefinition const&, IBuilderConfig const&) noexcept {
    METHOD("VBuilder.isNetworkSupported");
    return !fail_;
  }
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept;
};

// Fills the ranges of one profile from what the application set, or says what is wrong.
std::string fillProfile(Network& network, OptimizationProfile& from, Profile* to) {
  for (auto* each : network.inputs) {
    Tensor& input = *implementation<ITensor, Tensor>(each);
    const auto set = from.dims.find(input.name);
    const bool dynamic = std::any_of(input.shape.begin(), input.shape.end(), [](auto e) { return e < 0; });
    if (set == from.dims.end()) {
      if (dynamic)
        return "Network input " + input.name +
               " has dynamic dimensions, but the optimization profile has no dimensions for it";
    } else {
      if (set->second.size() != 3) return "Profile for input " + input.name + " is incomplete";
      const Range range{set->second[0], set->second[1], set->second[2]};
      for (const auto* shape : {&range.min, &range.opt, &range.max}) {
        if (shape->size() != input.shape.size())
          return "Profile for input " + input.name + " has the wrong number of dimensions";
        for (std::size_t i = 0; i < shape->size(); ++i)
          if (input.shape[i] >= 0 && input.shape[i] != (*shape)[i])
            return "Static dimension mismatch: input " + input.name + ", dimension " + std::to_string(i) + " is " +
                   std::to_string(input.shape[i]) + " in the network and " + std::to_string((*shape)[i]) +
                   " in the profile";
      }
      to->dims[input.name] = range;
    }
    if (input.isShapeTensor()) {
      auto values = from.values.find(input.name);
      if (values == from.values.end() || values->second.size() != 3)
        return "Profile for shape tensor " + input.name + " has no values";
      to->values[input.name] = {values->second[0], values->second[1], values->second[2]};
    }
  }
  for (const auto& [name, all] : from.dims)
    if (!network.tensor(name) || !network.tensor(name)->input)
      return "Profile names " + name + ", which is not an input of the network";
  return "";
}

// Phases within a phase, steps in each. False: cancelled.
bool progress(IProgressMonitor* monitor, const std::string& network, double stepMs, int steps) {
  if (!monitor) return true;
  const char* const phases[] = {"Tactic selection", "Weights", "Serialization"};
  monitor->phaseStart("Building engine", nullptr, 3);
  bool going = true;
  for (int p = 0; p < 3 && going; ++p) {
    monitor->phaseStart(phases[p], "Building engine", steps);
    for (int s = 0; s < steps && going; ++s) {
      wait(stepMs);
      going = monitor->stepComplete(phases[p], s);
      if (p == 1) dieIfWished(network, "step");
    }
    monitor->phaseFinish(phases[p]);
    if (going) going = monitor->stepComplete("Building engine", p);
  }
  monitor->phaseFinish("Building engine");
  return going;
}

// "values.0.shape.2.1": profile 0, input shape, maximum, second value.
void tellProfiles(const Config& config, std::map<std::string, long long>* told) {
  for (std::size_t p = 0; p < config.profiles.size(); ++p)
    for (const auto& [name, all] :
         implementation<IOptimizationProfile const, OptimizationProfile>(config.profiles[p])->values)
      for (const auto& [selector, values] : all)
        for (std::size_t i = 0; i < values.size(); ++i)
          (*told)["values." + std::to_string(p) + '.' + name + '.' + std::to_string(selector) + '.' +
                  std::to_string(i)] = values[i];
}

// What the real builder does not take together; empty when there is nothing.
std::string contradiction([[maybe_unused]] Network& network, [[maybe_unused]] Config& config) {
#if FAMILY == 10
  for (const auto flag :
       {BuilderFlag::kFP16, BuilderFlag::kBF16, BuilderFlag::kINT8, BuilderFlag::kFP8, BuilderFlag::kINT4,
        BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, BuilderFlag::kPREFER_PRECISION_CONSTRAINTS})
    if (network.strong() && config.has(flag)) return "a strongly typed network takes no flags for precisions";
  if (config.has(BuilderFlag::kINT8) && !config.calibrator && !network.quantizes() && !network.ranged())
    return "Calibrator is not being used, and the network has no scales";
  if (config.has(BuilderFlag::kINT8) && config.has(BuilderFlag::kFP8)) return "FP8 and INT8 do not go together";
#endif
  return "";
}

// Why TensorRT-RTX asks for a driver, which it does not for other builds; empty where it does not.
std::string wantsDriver([[maybe_unused]] const Network& network, [[maybe_unused]] const Config& config) {
#if FAMILY == 17
  const auto current = [](ComputeCapability each) { return each == ComputeCapability::kCURRENT; };
  if (std::any_of(config.capabilities.begin(), config.capabilities.end(), current)) return "for the current GPU";
  const bool refits = config.has(BuilderFlag::kREFIT) || config.has(BuilderFlag::kREFIT_IDENTICAL) ||
                      config.has(BuilderFlag::kREFIT_INDIVIDUAL) || config.has(BuilderFlag::kSTRIP_PLAN);
  if (refits && !network.program.constants.empty()) return "for weights that can be refitted";
#endif
  return "";
}

// Whether inputs of a profile's smallest, best or largest shapes do not fit each other; empty where they do.
std::string profileProblem(const Program& program, const Profile& profile) {
  for (const auto shape : {&Range::min, &Range::opt, &Range::max}) {
    Shapes inputs, all;
    for (const auto& port : program.ports)
      if (port.input)
        inputs[port.name] = profile.dims.count(port.name) ? profile.dims.at(port.name).*shape : port.shape;
    if (const auto wrong = inferShapes(program, inputs, {}, &all); !wrong.empty()) return wrong;
  }
  return "";
}

bool resourceMissing() {
  std::lock_guard lock(library().mutex);
  return library().settings.builderResource == "missing";
}
void logMissingResource(ILogger* logger, const char* method) {
  int device = 0, major = 0, minor = 0;
  driver()->currentDevice(&device);
  driver()->deviceAttribute(&major, 75, device), driver()->deviceAttribute(&minor, 76, device);
  const std::string version = std::to_string(kMajor) + '.' + std::to_string(kMinor) + '.' + std::to_string(kPatch);
  const std::string file =
      "libnvinfer_builder_resource_sm" + std::to_string(major) + std::to_string(minor) + ".so." + version;
  logError(logger, "Unable to load library: " + file + ": cannot open shared object file: No such file or directory");
  logError(logger, std::string(method) + ": Error Code 6: API Usage Error (Unable to load library: " + file + ")");
}

IHostMemory* Builder::buildSerializedNetwork(INetworkDefinition& definition, IBuilderConfig& configuration) noexcept {
  METHOD("VBuilder.buildSerializedNetwork");
  static const Teardown teardown;
  Network& network = *implementation<INetworkDefinition, Network>(&definition);
  Config& config = *implementation<IBuilderConfig, Config>(&configuration);
  const auto refuse = [&](const std::string& why) -> IHostMemory* {
    logError(logger, "IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (" + why + ")");
    return nullptr;
  };
  double stepMs;
  int steps;
  Version version;
  {
    std::lock_guard lock(library().mutex);
    auto told = network.told();
    told["plugins"] = registry.loaded();
    tellProfiles(config, &told);
    library().builds.push_back(config.json(told));
    stepMs = library().settings.buildStepMs, steps = library().settings.buildSteps, version = library().version;
  }
  if (fail_) return refuse("told to fail");
  if (resourceMissing()) return logMissingResource(logger, "IBuilder::buildSerializedNetwork"), nullptr;
  if (const auto wished = wish(network.name, "stepMs"); !wished.empty()) stepMs = std::stod(wished);
  if (const auto wished = wish(network.name, "steps"); !wished.empty()) steps = std::stoi(wished);
  dieIfWished(network.name, "build");
  if (const auto wrong = contradiction(network, config); !wrong.empty()) return refuse(wrong);
  if (const auto why = wantsDriver(network, config); !why.empty() && !haveDevice())
    return refuse("Myelin: CHECK(status == CUDA_SUCCESS) failed, " + why);
  if (network.outputs.empty()) return refuse("Network must have at least one output");
  Program program = network.program;
  program.profiles.clear();
  bool dynamic = false;
  for (auto* each : network.inputs) {
    Tensor& input = *implementation<ITensor, Tensor>(each);
    dynamic |=
        input.isShapeTensor() || std::any_of(input.shape.begin(), input.shape.end(), [](auto e) { return e < 0; });
  }
  if (dynamic && config.profiles.empty())
    return refuse("Network has dynamic or shape inputs, but no optimization profile has been defined.");
  for (auto* each : config.profiles) {
    Profile profile;
    auto* from = implementation<IOptimizationProfile const, OptimizationProfile>(each);
    if (const auto wrong = fillProfile(network, *from, &profile); !wrong.empty()) return refuse(wrong);
    program.profiles.push_back(std::move(profile));
  }
  if (program.profiles.empty()) program.profiles.resize(1);
  program.verbosity = static_cast<int>(config.getProfilingVerbosity());
  program.ports.clear();
  program.name = network.name.empty() ? "Unnamed Network 0" : network.name;
  Shapes inputs, all;
  for (auto* each : network.inputs) {
    Tensor& t = *implementation<ITensor, Tensor>(each);
    program.ports.push_back({t.name, true, static_cast<Type>(t.type), t.shape, t.isShapeTensor()});
    inputs[t.name] = t.shape;
  }
  if (const auto wrong = inferShapes(program, inputs, {}, &all); !wrong.empty()) return refuse(wrong);
  for (const auto& profile : program.profiles)
    if (const auto wrong = profileProblem(program, profile); !wrong.empty()) return refuse(wrong);
  for (auto* each : network.outputs) {
    Tensor& t = *implementation<ITensor, Tensor>(each);
    program.ports.push_back({t.name, false, static_cast<Type>(t.type), all.count(t.name) ? all[t.name] : t.shape});
  }
  if (const auto wrong = calibrate(network, config); !wrong.empty()) return refuse(wrong);
  TimingCache* cache = Config::timingCache(config.cache);
  log(logger, Severity::kINFO,
      cache ? "Global timing cache in use. Profiling results in this builder pass will be stored."
            : "Local timing cache in use. Profiling results in this builder pass will not be stored.");
  if (const auto wrong = chooseTactics(program, "flags:" + std::to_string(config.tacticFlags()), cache,
                                       config.has(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS));
      !wrong.empty())
    return refuse(wrong);
  const bool strip = config.getFlag(BuilderFlag::kSTRIP_PLAN);
  program.refit = config.getFlag(BuilderFlag::kREFIT)             ? Refit::kAll
                  : config.getFlag(BuilderFlag::kREFIT_IDENTICAL) ? Refit::kIdentical
                  : strip                                         ? Refit::kStripped
                                                                  : Refit::kNone;
  if (!progress(config.monitor, network.name, stepMs, steps))
    return refuse("the build was cancelled by the progress monitor");
  return hostMemory(wrapPlan(printProgram(program, !strip), version.major, version.minor, version.patch, 0));
}

}  // namespace
}  // namespace fake

using namespace fake;

FAKE_API void* createInferBuilder_INTERNAL(void* logger, int version) noexcept {
  METHOD("createInferBuilder_INTERNAL");
  auto* l = static_cast<ILogger*>(logger);
  // TensorRT-RTX builds without one
  if (kMajor > 1 && !haveDevice())
    return logError(l,
                    "createInferBuilder: Error Code 6: API Usage Error (CUDA initialization failure with error: 100. "
                    "Please check your CUDA installation)"),
           nullptr;
  if (version / 10000 != kMajor || fail_)
    return logError(l, "createInferBuilder: Error Code 3: API Usage Error (wrong version)"), nullptr;
  double start;
  {
    std::lock_guard lock(library().mutex);
    start = library().settings.builderStartMs;
  }
  wait(start);
  if (kMajor > 10 && resourceMissing()) return logMissingResource(l, "createInferBuilder"), nullptr;
  auto* builder = new Builder(l);
  builder->self = new Public<IBuilder>(builder, "VBuilder");
  return static_cast<void*>(builder->self);
}
