// What replaces the weights of an engine: IRefitter, the ONNX parser's IParserRefitter, and ISerializationConfig, which
// says whether the weights are written.
#pragma once

#include <vector>

#include "interfaces.h"

namespace nt::tensorrt {

class Refitter : public Owned {
 public:
  // Throws ERR_TRT_WEIGHTS where the plan was built so that nothing of it can be replaced.
  explicit Refitter(const std::shared_ptr<CudaEngine>& engine);

  // Weights that have no name of their own are listed with an empty one.
  std::vector<std::string> all() const;
  // Those that TensorRT fused with others that were set, and so wants too. Not what a stripped plan lacks.
  std::vector<std::string> missing() const;
  // The type and count that the weights have to have; a negative count where there are none of this name.
  Weights prototype(const std::string& name) const { return call<Method::VRefitter_getWeightsPrototype>(name.c_str()); }
  // The memory is read by refit(): until then it stays as it is.
  bool set(const std::string& name, const Weights& weights) {
    return call<Method::VRefitter_setNamedWeights>(name.c_str(), weights);
  }
  bool refit() { return call<Method::VRefitter_refitCudaEngine>(); }
};

// nvonnxparser::IParserRefitter. It owns the weights that it sets: it lives until the engine was refitted.
class ParserRefitter : public Reference {
 public:
  // Throws ERR_TRT_WEIGHTS, ERR_TRT_UNSUPPORTED, ERR_TRT_NO_LIBRARY.
  explicit ParserRefitter(const std::shared_ptr<Refitter>& refitter);
  ParserRefitter(const ParserRefitter&) = delete;
  ParserRefitter& operator=(const ParserRefitter&) = delete;
  ~ParserRefitter();

  // They set the weights; the engine is refitted by Refitter::refit().
  // `path` is where external weights are looked for; null when the model came as bytes.
  bool set(const void* model, std::size_t size, const char* path) {
    return call<Method::IParserRefitter_refitFromBytes>(model, size, path);
  }
  int32_t errors() const { return call<Method::IParserRefitter_getNbErrors>(); }
  ParserError error(int32_t i) const { return {library(), call<Method::IParserRefitter_getError>(i)}; }

 private:
  std::shared_ptr<Refitter> refitter_;
};

class SerializationConfig : public Owned {
 public:
  // Throws ERR_TRT_WEIGHTS.
  explicit SerializationConfig(const std::shared_ptr<CudaEngine>& engine);
  bool setFlag(Enumerator flag) { return call<Method::VSerializationConfig_setFlag>(library().require(flag)); }
  bool clearFlag(Enumerator flag) { return call<Method::VSerializationConfig_clearFlag>(library().require(flag)); }
  // null when it failed
  std::unique_ptr<HostMemory> serialize();

 private:
  const CudaEngine& engine_;
};

}  // namespace nt::tensorrt
