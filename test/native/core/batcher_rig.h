// A queue with lanes of one slot each, by a clock that a case holds. Every row of a request has bytes of its own, which
// are checked when a batch leaves, and again when it is over.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "../../../native/execution/queue.h"
#include "rig.h"

namespace batcher_rig {

using nt::execution::FrontEnd;
using nt::execution::Ticket;
using rig::Batch;
using rig::BatchingOptions;
using rig::Clock;
using rig::Part;
using rig::Permit;
using rig::Queue;
using rig::TimePoint;
using Ids = std::vector<uint64_t>;

struct Ask {
  int64_t rows = 1;
  int group = 0;       // requests of one group have equal shapes
  uint32_t level = 0;  // 0: the default level
  Clock::duration timeout{0};
  FrontEnd* front = nullptr;
};

class Lanes {
 public:
  static constexpr TimePoint kStart{std::chrono::seconds(1000)};

  explicit Lanes(BatchingOptions batching, int lanes = 1, std::size_t limit = 1000)
      : queue(std::move(batching), limit, [](std::size_t bytes) {
          const rig::DeviceContext& device = rig::DeviceContext::get(0);
          device.makeCurrent();
          return nt::cuda::pinnedPool(device).acquire(bytes);
        }) {
    for (int lane = 0; lane < lanes; ++lane) lanes_.push_back({&queue.addSeat(lane), nullptr});
  }

  // Numbers begin with 1; one that is refused has one, too.
  uint64_t arrive(const Ask& ask) {
    Part part;
    const uint64_t id = ++requests_;
    part.request = id;
    part.rows = ask.rows;
    part.asked = now;
    part.level = ask.level;
    part.queueTimeout = ask.timeout;
    part.front = ask.front;
    asked_[id] = ask;
    const std::vector<std::size_t> rowBytes = rowBytesOf(ask.group);
    const Queue::Place place =
        queue.reserve({{ask.rows, static_cast<int64_t>(rowBytes[0])}, {ask.rows, static_cast<int64_t>(rowBytes[1])}},
                      rowBytes, std::move(part));
    tickets_[id] = place.ticket;
    for (std::size_t input = 0; input < 2; ++input)
      for (int64_t row = 0; row < ask.rows; ++row)
        std::memset(place.data(input, rowBytes[input]) + rowBytes[input] * static_cast<std::size_t>(row),
                    byteOf(id, row, input), rowBytes[input]);
    queue.commit(place);
    return id;
  }
  uint64_t arrive(int64_t rows = 1, int group = 0) { return arrive(Ask{rows, group, 0, Clock::duration(0), nullptr}); }

  // What the lane runs is over, and it takes the next batch.
  Ids take(std::size_t lane = 0) {
    auto& [permit, running] = lanes_[lane];
    if (running) {
      check(*running);
      running->clear();
    }
    running = queue.take(*permit, now, std::exchange(running, nullptr));
    Ids ids;
    if (!running) return ids;
    for (const Part& part : running->parts) ids.push_back(part.request);
    check(*running);
    return ids;
  }
  bool idle(std::size_t lane) const { return lanes_[lane].running == nullptr; }
  std::size_t lanes() const { return lanes_.size(); }

  // Whether it waited.
  bool cancel(uint64_t id) { return cancelFor(asked_.count(id) > 0 ? asked_[id].front : nullptr, id); }
  bool cancelFor(const FrontEnd* front, uint64_t id) {
    const auto ticket = tickets_.find(id);
    return queue.cancel(front, ticket == tickets_.end() ? ~Ticket{0} - id : ticket->second).waiting;
  }
  Ids expire() { return idsOf(queue.expire(now)); }
  Ids drain() { return idsOf(queue.drain()); }
  // What was wrong with the data of a batch; "": nothing.
  const std::string& fault() const { return fault_; }

  TimePoint now = kStart;
  Queue queue;

 private:
  struct Lane {
    Permit* permit;
    std::shared_ptr<Batch> running;
  };
  static std::vector<std::size_t> rowBytesOf(int group) { return {8 * static_cast<std::size_t>(group + 1), 3}; }
  static uint8_t byteOf(uint64_t id, int64_t row, std::size_t input) {
    return static_cast<uint8_t>(id + 31 * static_cast<uint64_t>(row) + 101 * input);
  }
  static Ids idsOf(const std::vector<Part>& parts) {
    Ids ids;
    for (const Part& part : parts) ids.push_back(part.request);
    return ids;
  }
  void check(const Batch& batch) {
    int64_t rows = 0;
    for (const Part& part : batch.parts) {
      const Ask& ask = asked_.at(part.request);
      const std::string whose = "request " + std::to_string(part.request) + ": ";
      if (part.row != rows) fault_ = whose + "begins at row " + std::to_string(part.row);
      if (part.rows != ask.rows) fault_ = whose + "has " + std::to_string(part.rows) + " rows";
      rows += part.rows;
      const std::vector<std::size_t> rowBytes = rowBytesOf(ask.group);
      if (batch.rowBytes != rowBytes) {
        fault_ = whose + "is in a batch of other shapes";
        return;
      }
      for (std::size_t input = 0; input < 2; ++input) {
        const uint8_t* data = batch.dataOf(part, input);
        for (int64_t row = 0; row < part.rows; ++row, data += rowBytes[input])
          if (!std::all_of(data, data + rowBytes[input],
                           [wanted = byteOf(part.request, row, input)](uint8_t byte) { return byte == wanted; }))
            fault_ = whose + "row " + std::to_string(row) + " of input " + std::to_string(input) + " has other data";
      }
    }
    if (batch.rows != rows) fault_ = "a batch of " + std::to_string(rows) + " rows says " + std::to_string(batch.rows);
  }

  std::vector<Lane> lanes_;
  std::map<uint64_t, Ask> asked_;
  std::map<uint64_t, Ticket> tickets_;
  uint64_t requests_ = 0;
  std::string fault_;
};

}  // namespace batcher_rig
