// Threads of this layer that only look leave signals to the main thread, whose sleep a signal then interrupts.
#pragma once

#include <signal.h>

namespace pb::comm {

/// While it exists, new threads start with all signals blocked.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &former_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t former_{};
};

}  // namespace pb::comm
