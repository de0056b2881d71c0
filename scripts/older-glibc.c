// Linked into the prebuilt binary, by scripts/older-glibc.mjs: what the machine's libstdc++.a asks of glibc that the oldest one has not.

// Since 2.32: whether the process has one thread only. Node never has.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
