#include "configure.h"

#include <algorithm>
#include <span>

#include "../base/text.h"

namespace nt::building {
namespace {

using tensorrt::BuilderConfig;
using tensorrt::Enumerator;
using tensorrt::Library;
using tensorrt::Method;
using tensorrt::Parser;

struct FlagRow {
  const char* option;
  Enumerator flag;
  // whether the flag says the opposite of the option
  bool inverted = false;
};
constexpr FlagRow kFlags[] = {
    {"tf32", Enumerator::BuilderFlag_kTF32},
    {"sparsity", Enumerator::BuilderFlag_kSPARSE_WEIGHTS},
    {"strictNans", Enumerator::BuilderFlag_kSTRICT_NANS},
    {"monitorMemory", Enumerator::BuilderFlag_kMONITOR_MEMORY},
    {"distributiveIndependence", Enumerator::BuilderFlag_kDISTRIBUTIVE_INDEPENDENCE},
    {"disableTimingCache", Enumerator::BuilderFlag_kDISABLE_TIMING_CACHE},
    {"compilationCache", Enumerator::BuilderFlag_kDISABLE_COMPILATION_CACHE, true},
    {"versionCompatible", Enumerator::BuilderFlag_kVERSION_COMPATIBLE},
    {"excludeLeanRuntime", Enumerator::BuilderFlag_kEXCLUDE_LEAN_RUNTIME},
    {"stripWeights", Enumerator::BuilderFlag_kSTRIP_PLAN},
};

struct NumberRow {
  const char* option;
  Method setter;
  void (*set)(BuilderConfig&, int64_t);
  int64_t (*get)(const BuilderConfig&);
  // TensorRT may lower a limit to what the GPU has.
  bool limit = false;
};

template <Enumerator Pool>
constexpr NumberRow poolRow(const char* option, bool limit) {
  return {
      option, Method::VBuilderConfig_setMemoryPoolLimit,
      [](BuilderConfig& config, int64_t bytes) { config.setMemoryPoolLimit(Pool, static_cast<std::size_t>(bytes)); },
      [](const BuilderConfig& config) { return static_cast<int64_t>(config.memoryPoolLimit(Pool)); }, limit};
}
template <auto Set, auto Get>
constexpr NumberRow numberRow(const char* option, Method setter) {
  return {option, setter, [](BuilderConfig& config, int64_t value) { (config.*Set)(static_cast<int32_t>(value)); },
          [](const BuilderConfig& config) { return static_cast<int64_t>((config.*Get)()); }};
}
constexpr NumberRow kNumbers[] = {
    poolRow<Enumerator::MemoryPoolType_kWORKSPACE>("workspace", true),
    poolRow<Enumerator::MemoryPoolType_kTACTIC_DRAM>("tacticDram", true),
    poolRow<Enumerator::MemoryPoolType_kTACTIC_SHARED_MEMORY>("tacticSharedMemory", false),
    numberRow<&BuilderConfig::setOptimizationLevel, &BuilderConfig::optimizationLevel>(
        "optimizationLevel", Method::VBuilderConfig_setBuilderOptimizationLevel),
    numberRow<&BuilderConfig::setAvgTimingIterations, &BuilderConfig::avgTimingIterations>(
        "averageTiming", Method::VBuilderConfig_setAvgTimingIterations),
    numberRow<&BuilderConfig::setMaxAuxStreams, &BuilderConfig::maxAuxStreams>("auxiliaryStreams",
                                                                               Method::VBuilderConfig_setMaxAuxStreams),
    numberRow<&BuilderConfig::setMaxTactics, &BuilderConfig::maxTactics>("maxTactics",
                                                                         Method::VBuilderConfig_setMaxNbTactics),
};

struct Name {
  const char* name;
  Enumerator enumerator;
};

struct ChoiceRow {
  const char* option;
  Method setter;
  // TensorRT's default first
  std::span<const Name> names;
  void (BuilderConfig::*set)(int32_t);
  int32_t (BuilderConfig::*get)() const;
  // what to use instead where TensorRT-RTX has the methods, but says itself that it does not support them
  const char* insteadOnRtx = nullptr;
};
constexpr Name kVerbosities[] = {{"layerNames", Enumerator::ProfilingVerbosity_kLAYER_NAMES_ONLY},
                                 {"detailed", Enumerator::ProfilingVerbosity_kDETAILED},
                                 {"none", Enumerator::ProfilingVerbosity_kNONE}};
constexpr Name kCompatibilities[] = {
    {"none", Enumerator::HardwareCompatibilityLevel_kNONE},
    {"ampere+", Enumerator::HardwareCompatibilityLevel_kAMPERE_PLUS},
    {"sameComputeCapability", Enumerator::HardwareCompatibilityLevel_kSAME_COMPUTE_CAPABILITY}};
constexpr Name kPlatforms[] = {{"same", Enumerator::RuntimePlatform_kSAME_AS_BUILD},
                               {"windows-amd64", Enumerator::RuntimePlatform_kWINDOWS_AMD64}};
constexpr ChoiceRow kChoices[] = {
    {"profilingVerbosity", Method::VBuilderConfig_setProfilingVerbosity, kVerbosities,
     &BuilderConfig::setProfilingVerbosity, &BuilderConfig::profilingVerbosity},
    {"hardwareCompatibility", Method::VBuilderConfig_setHardwareCompatibilityLevel, kCompatibilities,
     &BuilderConfig::setHardwareCompatibility, &BuilderConfig::hardwareCompatibility, "computeCapabilities"},
    {"runtimePlatform", Method::VBuilderConfig_setRuntimePlatform, kPlatforms, &BuilderConfig::setRuntimePlatform,
     &BuilderConfig::runtimePlatform},
};

constexpr Name kTacticSources[] = {{"cublas", Enumerator::TacticSource_kCUBLAS},
                                   {"cublasLt", Enumerator::TacticSource_kCUBLAS_LT},
                                   {"cudnn", Enumerator::TacticSource_kCUDNN},
                                   {"edgeMaskConvolutions", Enumerator::TacticSource_kEDGE_MASK_CONVOLUTIONS},
                                   {"jitConvolutions", Enumerator::TacticSource_kJIT_CONVOLUTIONS}};
constexpr Name kPreviewFeatures[] = {
    {"profileSharing0806", Enumerator::PreviewFeature_kPROFILE_SHARING_0806},
    {"aliasedPluginIO1003", Enumerator::PreviewFeature_kALIASED_PLUGIN_IO_10_03},
    {"runtimeActivationResize1010", Enumerator::PreviewFeature_kRUNTIME_ACTIVATION_RESIZE_10_10},
    {"multiDeviceRuntime1016", Enumerator::PreviewFeature_kMULTIDEVICE_RUNTIME_10_16}};
constexpr Name kComputeCapabilities[] = {
    {"current", Enumerator::ComputeCapability_kCURRENT}, {"7.5", Enumerator::ComputeCapability_kSM75},
    {"8.0", Enumerator::ComputeCapability_kSM80},        {"8.6", Enumerator::ComputeCapability_kSM86},
    {"8.9", Enumerator::ComputeCapability_kSM89},        {"12.0", Enumerator::ComputeCapability_kSM120},
    {"12.1", Enumerator::ComputeCapability_kSM121}};
constexpr Name kRefits[] = {{"all", Enumerator::BuilderFlag_kREFIT},
                            {"identical", Enumerator::BuilderFlag_kREFIT_IDENTICAL},
                            {"individual", Enumerator::BuilderFlag_kREFIT_INDIVIDUAL}};
constexpr Name kConstraints[] = {{"obey", Enumerator::BuilderFlag_kOBEY_PRECISION_CONSTRAINTS},
                                 {"prefer", Enumerator::BuilderFlag_kPREFER_PRECISION_CONSTRAINTS}};

// The enumerator that a name stands for. Throws where the table, or this version, has none.
Enumerator named(const Library& library, std::span<const Name> names, const std::string& name) {
  const auto row = std::ranges::find_if(names, [&](const Name& each) { return name == each.name; });
  if (row == names.end()) {
    Names known;
    for (const Name& each : names) known.emplace_back(each.name);
    throw Error("ERR_TRT_UNSUPPORTED", library.name() + " knows no '" + name + "': it has " + join(known));
  }
  library.require(row->enumerator);
  return row->enumerator;
}

// The first name whose enumerator has the number; empty where none has.
std::string nameOf(const Library& library, std::span<const Name> names, int32_t number) {
  for (const Name& each : names) {
    if (library.has(each.enumerator) && library.number(each.enumerator) == number) return each.name;
  }
  return "";
}

template <class Body>
void forOption(const char* option, Body body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(error.code(), "Option " + std::string(option) + ": " + error.what(), {{"option", option}});
  }
}

template <class T>
void expectTaken(const Library& library, const T& asked, const T& reported) {
  if (asked == reported) return;
  const auto text = [](const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
      return value;
    else if constexpr (std::is_same_v<T, Names>)
      return join(value);
    else if constexpr (std::is_same_v<T, bool>)
      return std::string(value ? "true" : "false");
    else
      return std::to_string(value);
  };
  throw Error("ERR_TRT_UNSUPPORTED",
              library.name() + " does not take " + text(asked) + " and stays with " + text(reported));
}

void setFlags(BuilderConfig& config, const Options& options) {
  const Library& library = config.library();
  for (const FlagRow& row : kFlags) {
    const bool* given = options.find<bool>(row.option);
    if (given == nullptr) continue;
    const bool on = *given != row.inverted;
    if (!on && !library.has(row.flag)) continue;  // it is off where it does not exist
    forOption(row.option, [&] {
      if (on)
        config.setFlag(row.flag);
      else
        config.clearFlag(row.flag);
      expectTaken(library, *given, config.flag(row.flag) != row.inverted);
    });
  }
}

void setNumbers(BuilderConfig& config, const Options& options) {
  for (const NumberRow& row : kNumbers) {
    const int64_t* given = options.find<int64_t>(row.option);
    if (given == nullptr) continue;
    forOption(row.option, [&] {
      row.set(config, *given);
      const int64_t reported = row.get(config);
      if (!row.limit || reported > *given) expectTaken(config.library(), *given, reported);
    });
  }
}

bool hasChoice(const Library& library, const ChoiceRow& row) {
  return library.has(row.setter) && (row.insteadOnRtx == nullptr || library.kind() != tensorrt::Kind::rtx);
}

void setChoices(BuilderConfig& config, const Options& options) {
  const Library& library = config.library();
  for (const ChoiceRow& row : kChoices) {
    const std::string* given = options.find<std::string>(row.option);
    if (given == nullptr) continue;
    if (*given == row.names.front().name && !hasChoice(library, row)) continue;
    forOption(row.option, [&] {
      library.require(row.setter);
      if (!hasChoice(library, row)) {
        throw Error("ERR_TRT_UNSUPPORTED", "needs TensorRT 10 or 11; this is " + library.name() +
                                               ", which has option " + row.insteadOnRtx + " instead");
      }
      (config.*row.set)(library.number(named(library, row.names, *given)));
      expectTaken(library, *given, nameOf(library, row.names, (config.*row.get)()));
    });
  }
}

// One of several flags that exclude each other.
void setExclusive(BuilderConfig& config, const Options& options, const char* option, std::span<const Name> names) {
  const std::string* given = options.find<std::string>(option);
  if (given == nullptr) return;
  forOption(option, [&] {
    const Enumerator flag = named(config.library(), names, *given);
    config.setFlag(flag);
    expectTaken(config.library(), true, config.flag(flag));
  });
}

std::string exclusiveFlag(const BuilderConfig& config, std::span<const Name> names) {
  for (const Name& each : names) {
    if (config.flag(each.enumerator)) return each.name;
  }
  return "";
}

Names namesOfBits(const Library& library, std::span<const Name> names, uint32_t bits) {
  Names found;
  for (const Name& each : names) {
    if (library.has(each.enumerator) && (bits >> library.number(each.enumerator) & 1) != 0)
      found.emplace_back(each.name);
  }
  return found;
}

void setTacticSources(BuilderConfig& config, const Options& options) {
  const Names* given = options.find<Names>("tacticSources");
  if (given == nullptr) return;
  forOption("tacticSources", [&] {
    uint32_t bits = 0;
    for (const std::string& name : *given) {
      bits |= 1U << static_cast<uint32_t>(config.library().number(named(config.library(), kTacticSources, name)));
    }
    const bool set = config.setTacticSources(bits);
    if (!set) throw Error("ERR_TRT_UNSUPPORTED", config.library().name() + " refused " + join(*given));
    expectTaken(config.library(), bits, config.tacticSources());
  });
}

void setPreviewFeatures(BuilderConfig& config, const Options& options) {
  const Names* given = options.find<Names>("previewFeatures");
  if (given == nullptr) return;
  forOption("previewFeatures", [&] {
    for (const std::string& name : *given) {
      const Enumerator feature = named(config.library(), kPreviewFeatures, name);
      config.setPreviewFeature(feature, true);
      if (!config.previewFeature(feature)) {
        throw Error("ERR_TRT_UNSUPPORTED", config.library().name() + " refused " + name);
      }
    }
  });
}

void setComputeCapabilities(BuilderConfig& config, const Options& options) {
  const Names* given = options.find<Names>("computeCapabilities");
  if (given == nullptr) return;
  forOption("computeCapabilities", [&] {
    config.library().require(Method::VBuilderConfig_setNbComputeCapabilities);
    std::vector<int32_t> numbers;
    for (const std::string& name : *given) {
      numbers.push_back(config.library().number(named(config.library(), kComputeCapabilities, name)));
    }
    if (!config.setComputeCapabilities(numbers) || config.computeCapabilities() != numbers) {
      throw Error("ERR_TRT_UNSUPPORTED", config.library().name() + " refused " + join(*given));
    }
  });
}

void setPluginsToSerialize(BuilderConfig& config, const Options& options) {
  const Names* given = options.find<Names>("pluginsToSerialize");
  if (given == nullptr) return;
  forOption("pluginsToSerialize", [&] {
    config.setPluginsToSerialize(*given);
    expectTaken(config.library(), *given, config.pluginsToSerialize());
  });
}

}  // namespace

void loadPlugins(tensorrt::Builder& builder, const Options& options) {
  const Names* paths = options.find<Names>("plugins");
  if (paths == nullptr) return;
  for (const std::string& path : *paths) {
    if (builder.loadPlugins(path)) continue;
    throw Error(
        "ERR_TRT_FILE",
        builder.library().name() + " cannot load the plugin library " + path + " (it has to export getCreators())",
        {{"path", path}});
  }
}

void configureParser(Parser& parser, const Options& options) {
  const bool* native = options.find<bool>("nativeInstanceNorm");
  if (native == nullptr) return;
  forOption("nativeInstanceNorm", [&] {
    constexpr Enumerator flag = Enumerator::OnnxParserFlag_kNATIVE_INSTANCENORM;
    if (*native)
      parser.setFlag(flag);
    else
      parser.clearFlag(flag);
    expectTaken(parser.library(), *native, parser.flag(flag));
  });
}

void configure(BuilderConfig& config, const Options& options) {
  setFlags(config, options);
  setNumbers(config, options);
  setChoices(config, options);
  setExclusive(config, options, "refit", kRefits);
  setExclusive(config, options, "precisionConstraints", kConstraints);
  setTacticSources(config, options);
  setPreviewFeatures(config, options);
  setComputeCapabilities(config, options);
  setPluginsToSerialize(config, options);
}

void markRefittable(tensorrt::NetworkDefinition& network, const Options& options) {
  const Names* weights = options.find<Names>("refittableWeights");
  if (weights == nullptr) return;
  forOption("refittableWeights", [&] {
    for (const std::string& name : *weights) {
      if (network.markWeightsRefittable(name)) continue;
      throw Error("ERR_TRT_INVALID_ARGUMENT",
                  "the model has no weights '" + name + "', or " + network.library().name() + " cannot refit them");
    }
  });
}

void readConfiguration(const BuilderConfig& config, const Parser& parser, Options& settings) {
  const Library& library = config.library();
  auto& values = settings.values;
  for (const NumberRow& row : kNumbers) {
    if (library.has(row.setter)) values.emplace_back(row.option, row.get(config));
  }
  for (const FlagRow& row : kFlags) {
    if (library.has(row.flag)) values.emplace_back(row.option, config.flag(row.flag) != row.inverted);
  }
  for (const ChoiceRow& row : kChoices) {
    if (hasChoice(library, row)) values.emplace_back(row.option, nameOf(library, row.names, (config.*row.get)()));
  }
  const std::string refit = exclusiveFlag(config, kRefits);
  values.emplace_back("refit", refit.empty() ? Value(false) : Value(refit));
  if (const std::string constraints = exclusiveFlag(config, kConstraints); !constraints.empty()) {
    values.emplace_back("precisionConstraints", constraints);
  }
  values.emplace_back("tacticSources", namesOfBits(library, kTacticSources, config.tacticSources()));
  Names features;
  for (const Name& each : kPreviewFeatures) {
    if (library.has(each.enumerator) && config.previewFeature(each.enumerator)) features.emplace_back(each.name);
  }
  values.emplace_back("previewFeatures", features);
  if (library.has(Method::VBuilderConfig_getNbComputeCapabilities)) {
    Names capabilities;
    for (const int32_t number : config.computeCapabilities()) {
      capabilities.push_back(nameOf(library, kComputeCapabilities, number));
    }
    values.emplace_back("computeCapabilities", capabilities);
  }
  values.emplace_back("pluginsToSerialize", config.pluginsToSerialize());
  constexpr Enumerator instanceNorm = Enumerator::OnnxParserFlag_kNATIVE_INSTANCENORM;
  if (library.has(instanceNorm)) values.emplace_back("nativeInstanceNorm", parser.flag(instanceNorm));
}

}  // namespace nt::building
