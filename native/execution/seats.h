// Who may run batches. A seat is a slot of a lane with a thread of its own; who has taken it, that thread or a caller
// of Session::run, may have one batch there.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "../base/condition.h"
#include "request.h"

namespace nt::execution {

struct Seat {
  int lane = 0;
  int slot = 0;
  // Written by its thread, read when it gives the seat back: its batches take less time than it takes to wake another
  // thread.
  bool brief = false;
  // Batches that are being put on the lane's device: another one would have to wait for that.
  std::atomic<int>* beginning = nullptr;

  // The rest is the queue's, under its lock.
  enum class Owner : uint8_t { nobody, thread, caller } owner = Owner::nobody;
  // Where its thread is: at work, on its way to the queue, asleep there.
  enum class Place : uint8_t { away, coming, parked } place = Place::coming;
  Condition called;
};

// All lanes' seats. The queue's lock is held.
class Seats {
 public:
  // One more for a lane; its thread is on its way.
  Seat& add(int lane);

  void take(Seat& seat, Seat::Owner owner, TimePoint now);
  void giveBack(Seat& seat);
  void move(Seat& seat, Seat::Place place);

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

  // A seat of the lane with the least to do whose thread sleeps; null where none would be of use at `now`.
  Seat* toCall(TimePoint now) const;
  // One that a caller may take; null where none is free.
  Seat* toLend() const;
  const std::vector<std::unique_ptr<Seat>>& all() const noexcept { return all_; }

 private:
  struct Lane {
    int taken = 0;
    int coming = 0;
    std::atomic<int> beginning{0};
    bool brief = false;
    TimePoint begun;  // when it got its last batch
  };
  const Lane& at(int lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  Lane& at(int lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  int load(const Seat& seat) const { return at(seat.lane).taken + at(seat.lane).coming; }

  std::vector<std::unique_ptr<Seat>> all_;  // of a lane in the order of slots
  std::deque<Lane> lanes_;
  int coming_ = 0;
  int parked_ = 0;
};

}  // namespace nt::execution
