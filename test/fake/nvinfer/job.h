// One execution: all that it needs, so that the context may change meanwhile, and a captured graph may replay it.
#pragma once
#include <algorithm>
#include <cstring>

#include "engine.h"

namespace fake {

struct Binding {
  const Port* port;
  void* address;
  std::size_t bytes;
  Shape shape;
};

struct Job {
  std::shared_ptr<const Program> program;
  std::vector<Binding> inputs, outputs;
  Values host;
  void* scratch = nullptr;
  std::size_t scratchBytes = 0;
  bool copy = false;  // one identity of one input: nothing but a copy

  // A kernel writes into its context's memory: what was freed meanwhile is found here.
  bool useScratch() const {
    if (!scratchBytes) return true;
    if (driver()->checkRange(scratch, scratchBytes)) return false;
    std::memset(scratch, 0x5c, std::min<std::size_t>(scratchBytes, 64));
    static_cast<unsigned char*>(scratch)[scratchBytes - 1] = 0x5c;
    return true;
  }
  bool readInputs(Values* values) const {
    if (!useScratch()) return false;
    *values = host;
    for (const auto& b : inputs) {
      if (b.bytes && driver()->checkRange(b.address, b.bytes)) return false;
      const auto* bytes = static_cast<unsigned char*>(b.address);
      (*values)[b.port->name] = {b.port->type, b.shape, {bytes, bytes + b.bytes}};
    }
    return true;
  }
  // `most`: what may be written, where the size is known only now.
  void write(Values& values) const {
    for (const auto& b : outputs) {
      const auto found = values.find(b.port->name);
      if (found == values.end() || !b.address || b.port->host) continue;  // that the context writes
      const auto& bytes = found->second.bytes;
      if (bytes.empty() || driver()->checkRange(b.address, bytes.size())) continue;
      std::memcpy(b.address, bytes.data(), bytes.size());
    }
  }
  void run() const {
    if (copy) {
      if (!useScratch()) return;
      if (!inputs[0].bytes || driver()->checkRange(inputs[0].address, inputs[0].bytes) ||
          driver()->checkRange(outputs[0].address, inputs[0].bytes))
        return;
      std::memcpy(outputs[0].address, inputs[0].address, inputs[0].bytes);
      return;
    }
    Values values;
    if (!readInputs(&values)) return;
    if (evaluate(*program, &values).empty()) write(values);
  }
};
using SharedJob = std::shared_ptr<const Job>;

// One execution in two steps: the inputs are read (and their event recorded) before the computation.
struct Split {
  SharedJob job;
  Values values;
  bool read = false;
};

// A job that a graph keeps, with what must not change before the graph's last launch.
struct Captured {
  SharedJob job;
  std::shared_ptr<const std::atomic<std::uint64_t>> state;  // of the context, as it counts its changes
  std::uint64_t expected;
  std::vector<std::pair<const void*, std::uint64_t>> memory;  // and the number of its allocation

  Captured(SharedJob j, std::shared_ptr<const std::atomic<std::uint64_t>> s)
      : job(std::move(j)), state(std::move(s)), expected(*state) {
    for (const auto* bindings : {&job->inputs, &job->outputs})
      for (const auto& b : *bindings) keep(b.port->host ? nullptr : b.address);
    keep(job->scratch);
  }
  void keep(const void* address) {
    std::uint64_t number = 0;
    if (address && driver()->allocationAt(address, &number)) memory.emplace_back(address, number);
  }
  bool stale() const {
    if (*state != expected) return true;
    return std::any_of(memory.begin(), memory.end(), [](const auto& each) {
      std::uint64_t number = 0;
      driver()->allocationAt(each.first, &number);
      return number != each.second;
    });
  }
  void launched() const {
    if (stale()) misused("staleGraphLaunched");
  }
};

inline int enqueueJob(void* stream, SharedJob job, double milliseconds) {
  return driver()->enqueue(
      stream, [](void* data) { (*static_cast<SharedJob*>(data))->run(); }, new SharedJob(std::move(job)),
      [](void* data) { delete static_cast<SharedJob*>(data); }, milliseconds);
}
inline int captureJob(void* stream, Captured* captured, double milliseconds) {
  return driver()->enqueueCaptured(
      stream, [](void* data) { static_cast<Captured*>(data)->job->run(); },
      [](void* data) { static_cast<Captured*>(data)->launched(); }, captured,
      [](void* data) { delete static_cast<Captured*>(data); }, milliseconds);
}

}  // namespace fake
