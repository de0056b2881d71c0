// One front-end of a session: what one JavaScript Engine works with. Several, in several threads, fill the same
// batches.
#pragma once

#include "front_end.h"
#include "session.h"

namespace nt::execution {

// Its methods may be called on any thread. The lanes end with the last client of their session.
class Client {
 public:
  // Throws ERR_TRT_TOKEN where the last one has closed the session.
  Client(std::shared_ptr<Session> session, Sink sink);
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::shared_ptr<Session>& session() const noexcept { return session_; }
  const Engine& engine() const noexcept { return session_->engine(); }
  const std::shared_ptr<Engine>& sharedEngine() const noexcept { return session_->sharedEngine(); }

  // As those of Session.
  Ticket submit(const std::vector<InputView>& inputs, Part part, Scratch& scratch);
  bool cancel(Ticket ticket) { return session_->cancel(front_, ticket); }
  Completion run(const std::vector<InputView>& inputs, Part part, Scratch& scratch);

  // Refuses new work, and blocks until what it asked for has come to its end, which does not wait for more to fill a
  // batch; the last one frees the lanes. Twice without harm. Not from a sink, which is called on a lane's thread.
  void close();
  // Refuses new work, and lets go of what is queued: no completion comes any more. What runs may be ended, where no
  // other client waits for it. To be followed by close().
  void drop() { session_->drop(front_); }
  // Before the end of the process: as drop(), and waits until nothing of it runs, or until the deadline and the
  // patience that the runtime asks for then; whether nothing does. Where nothing of it is under way, it goes on to
  // work.
  bool leave(std::chrono::steady_clock::time_point deadline);

 private:
  const std::shared_ptr<Session> session_;
  FrontEnd front_;
  std::mutex closing_;
  bool left_ = false;
};

}  // namespace nt::execution
