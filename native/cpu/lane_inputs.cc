// How a lane gives onnxruntime the inputs of a batch.
#include <algorithm>
#include <cstring>

#include "../execution/layout.h"
#include "lane.h"
#include "texts.h"

namespace nt::cpu {

// Whether the rows of the batch lie together as they are, padding and all.
bool Lane::isWhole() const {
  if (!options_.merging) return true;
  const Batch& batch = *batch_;
  if (batch.rows != shapes_.front().front()) return false;
  if (batch.parts.size() == 1) return true;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (batch.together(i) == nullptr) return false;
  }
  return true;
}

// Puts the rows of a batch together that do not lie so, or are to be padded: in its own memory where there is room,
// else in memory for this batch.
void Lane::gather() {
  gatheredAt_.clear();
  whole_ = isWhole();
  if (whole_) return;
  const Batch& batch = *batch_;
  const int64_t rows = shapes_.front().front();
  const bool hasRoom = !batch.parts.front().memory->sole && batch.spare >= rows - batch.rows;
  std::size_t bytes = 0;
  for (const std::size_t rowBytes : batch.rowBytes) {
    gatheredAt_.push_back(bytes);
    bytes += execution::bytesOf(rowBytes, rows, bytes);
  }
  if (!hasRoom) gathered_ = engine_->pool().acquire(bytes);
  for (std::size_t i = 0; i < inputs_.size(); ++i) gatherInput(i, gatheredInput(i));
}

uint8_t* Lane::gatheredInput(std::size_t input) const {
  if (gathered_) return gathered_->data() + gatheredAt_[input];
  const Part& first = batch_->parts.front();
  return first.memory->at(input, batch_->rowBytes[input], first.placed);
}

// Padding repeats a row, since a row of nothing might be an index into nowhere.
void Lane::gatherInput(std::size_t input, uint8_t* to) {
  Batch& batch = *batch_;
  const std::size_t rowBytes = batch.rowBytes[input];
  const auto at = [&](int64_t row) { return to + rowBytes * static_cast<std::size_t>(row); };
  for (const Part& part : batch.parts) {
    const std::size_t bytes = rowBytes * static_cast<std::size_t>(part.rows);
    const uint8_t* from = batch.dataOf(part, input);
    if (from == at(part.row)) continue;
    std::memcpy(at(part.row), from, bytes);
    batch.copied += bytes;
  }
  for (int64_t row = batch.rows; row < shapes_.front().front(); ++row)
    std::memcpy(at(row), at(batch.rows - 1), rowBytes);
}

void Lane::bindInputs() {
  const Batch& batch = *batch_;
  given_.clear();
  givenData_.clear();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    void* data = whole_ ? const_cast<uint8_t*>(batch.dataOf(batch.parts.front(), i)) : gatheredInput(i);
    give(inputs_[i], tensor, shapes_[i], {static_cast<const uint8_t*>(data), batch.rowBytes[i]});
  }
  if (!engine_->optionals().empty()) bindOptionals();
}

// Requests with any run alone.
void Lane::bindOptionals() {
  inputNames_.resize(inputs_.size());
  for (const execution::OptionalInput& given : batch_->parts.front().optionals) {
    const IoTensor& tensor = engine_->optionals()[given.index];
    inputNames_.push_back(tensor.name.c_str());
    give(optionals_.emplace_back(library_), tensor, given.shape, given.bytes);
  }
}

void Lane::give(Binding& binding, const IoTensor& tensor, const Shape& shape, std::span<const uint8_t> bytes) {
  if (tensor.dtype == DType::string) {
    fillTexts(library_, tensor, shape, bytes, binding.value);
  } else {
    make(binding, tensor, shape, const_cast<uint8_t*>(bytes.data()));
  }
  given_.push_back(binding.value.get());
  givenData_.push_back(bytes.data());
}

}  // namespace nt::cpu
