// What scripts/record-triton.mjs gives to a real Triton as its backends `tensorrt` and `onnxruntime`: OUTPUT… of a
// request is its INPUT…. Headers: include/ of triton-inference-server/core.
#include <cstring>
#include <string>

#include "triton/core/tritonbackend.h"

namespace {

struct Input {
  TRITONBACKEND_Input* handle;
  TRITONSERVER_DataType type;
  const int64_t* shape;
  uint32_t rank;
  uint64_t bytes;
  uint32_t buffers;
};

TRITONSERVER_Error* find(TRITONBACKEND_Request* request, const std::string& name, Input& found) {
  if (auto* error = TRITONBACKEND_RequestInput(request, name.c_str(), &found.handle)) return error;
  return TRITONBACKEND_InputProperties(found.handle, nullptr, &found.type, &found.shape, &found.rank, &found.bytes,
                                       &found.buffers);
}

TRITONSERVER_Error* copy(const Input& input, TRITONBACKEND_Output* output) {
  void* to = nullptr;
  TRITONSERVER_MemoryType to_memory = TRITONSERVER_MEMORY_CPU;
  int64_t to_device = 0;
  if (auto* error = TRITONBACKEND_OutputBuffer(output, &to, input.bytes, &to_memory, &to_device)) return error;
  auto* next = static_cast<char*>(to);
  for (uint32_t i = 0; i < input.buffers; ++i) {
    const void* from = nullptr;
    uint64_t size = 0;
    TRITONSERVER_MemoryType from_memory = TRITONSERVER_MEMORY_CPU;
    int64_t from_device = 0;
    if (auto* error = TRITONBACKEND_InputBuffer(input.handle, i, &from, &size, &from_memory, &from_device))
      return error;
    if (size > 0) std::memcpy(next, from, size);
    next += size;
  }
  return nullptr;
}

TRITONSERVER_Error* answer(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  uint32_t wanted = 0;
  if (auto* error = TRITONBACKEND_RequestOutputCount(request, &wanted)) return error;
  for (uint32_t i = 0; i < wanted; ++i) {
    const char* name = nullptr;
    if (auto* error = TRITONBACKEND_RequestOutputName(request, i, &name)) return error;
    Input input{};
    if (auto* error = find(request, "INPUT" + std::string(name).substr(std::strlen("OUTPUT")), input)) return error;
    TRITONBACKEND_Output* output = nullptr;
    if (auto* error = TRITONBACKEND_ResponseOutput(response, &output, name, input.type, input.shape, input.rank))
      return error;
    if (auto* error = copy(input, output)) return error;
  }
  return nullptr;
}

void respond(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Response* response = nullptr;
  if (auto* error = TRITONBACKEND_ResponseNew(&response, request)) return TRITONSERVER_ErrorDelete(error);
  auto* error = answer(request, response);
  if (auto* unsent = TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error))
    TRITONSERVER_ErrorDelete(unsent);
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
}

/** Rows of a batch, which its first input begins with; 1 where the model has no batches. */
uint32_t rowsOf(TRITONBACKEND_Request* request, bool batches) {
  TRITONBACKEND_Input* input = nullptr;
  const int64_t* shape = nullptr;
  uint32_t rank = 0;
  if (!batches || TRITONBACKEND_RequestInputByIndex(request, 0, &input) != nullptr) return 1;
  if (TRITONBACKEND_InputProperties(input, nullptr, nullptr, &shape, &rank, nullptr, nullptr) != nullptr) return 1;
  return rank == 0 ? 1 : static_cast<uint32_t>(shape[0]);
}

bool hasBatches(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  TRITONSERVER_Message* config = nullptr;
  const char* text = nullptr;
  size_t size = 0;
  if (TRITONBACKEND_ModelInstanceModel(instance, &model) != nullptr) return false;
  if (TRITONBACKEND_ModelConfig(model, 1, &config) != nullptr) return false;
  const bool has = TRITONSERVER_MessageSerializeToJson(config, &text, &size) == nullptr &&
                   std::string(text, size).find("\"max_batch_size\":0") == std::string::npos;
  TRITONSERVER_MessageDelete(config);
  return has;
}

}  // namespace

extern "C" TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                                  TRITONBACKEND_Request** requests,
                                                                  const uint32_t count) {
  const bool batches = hasBatches(instance);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rows += rowsOf(requests[i], batches);
    respond(requests[i]);
    if (auto* error = TRITONBACKEND_ModelInstanceReportStatistics(instance, requests[i], true, 0, 0, 0, 0))
      TRITONSERVER_ErrorDelete(error);
    if (auto* error = TRITONBACKEND_RequestRelease(requests[i], TRITONSERVER_REQUEST_RELEASE_ALL))
      TRITONSERVER_ErrorDelete(error);
  }
  if (auto* error = TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, rows, 0, 0, 0, 0))
    TRITONSERVER_ErrorDelete(error);
  return nullptr;
}
