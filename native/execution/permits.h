// Who may run batches. A permit stands for a slot of a lane, which has a thread of its own; who holds it, that thread
// or a caller of Session::run, may have one batch there.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "../base/condition.h"
#include "request.h"

namespace nt::execution {

struct Permit {
  int lane = 0;
  int slot = 0;
  // Written by its thread, read when it gives the permit back: its batches take less time than it takes to wake another
  // thread.
  bool shortBatches = false;
  // Batches that are being put on the lane's device: another one would have to wait for that, and is better left to the
  // lane that comes free first. Without it four lanes whose enqueue blocks for 5 ms take 3 % longer for requests of
  // which five are in flight (1346 instead of 1308 µs each); with 16 in flight (bench core, `four lanes`) nothing
  // changes.
  std::atomic<int>* beginning = nullptr;

  // The rest is the queue's, under its lock.
  enum class Owner : uint8_t { nobody, thread, caller } owner = Owner::nobody;
  // Where its thread is: at work, on its way to the queue, asleep there.
  enum class Place : uint8_t { away, coming, parked } place = Place::coming;
  Condition called;
};

// All lanes' permits. The queue's lock is held.
class Permits {
 public:
  // One more for a lane; its thread is on its way.
  Permit& add(int lane);

  void take(Permit& permit, Permit::Owner owner, TimePoint now);
  void giveBack(Permit& permit);
  void move(Permit& permit, Permit::Place place);

  // Batches that a lane has.
  int busy(int lane) const { return at(lane).taken; }
  // Lanes, other than this one, that have nothing to do.
  int idle(int except) const;
  // Whether some lane has nothing to do and nobody on his way.
  bool anyForgotten() const;
  // Whether a busy lane is better left to who has it: a batch is being put on the device, or will be over, as far as is
  // known, before another thread would be awake.
  bool occupied(int lane, TimePoint now) const;
  int coming() const noexcept { return coming_; }
  int parked() const noexcept { return parked_; }

  // A permit of the lane with the least to do whose thread sleeps; null where none would be of use at `now`.
  Permit* toCall(TimePoint now) const;
  // One that a caller may take; null where none is free.
  Permit* toLend() const;
  const std::vector<std::unique_ptr<Permit>>& all() const noexcept { return all_; }

 private:
  struct Lane {
    int taken = 0;
    int coming = 0;
    std::atomic<int> beginning{0};
    bool shortBatches = false;
    TimePoint begun;  // when it got its last batch
  };
  const Lane& at(int lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  Lane& at(int lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  int load(const Permit& permit) const { return at(permit.lane).taken + at(permit.lane).coming; }

  std::vector<std::unique_ptr<Permit>> all_;  // of a lane in the order of slots
  std::deque<Lane> lanes_;
  int coming_ = 0;
  int parked_ = 0;
};

}  // namespace nt::execution
