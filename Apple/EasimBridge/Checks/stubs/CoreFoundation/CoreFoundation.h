// The only CoreFoundation function that the bridge calls, implemented with GNUstep's socket streams.

#ifndef EASIM_STUB_COREFOUNDATION
#define EASIM_STUB_COREFOUNDATION

typedef const void *CFAllocatorRef;
typedef struct CFReadStream *CFReadStreamRef;
typedef struct CFWriteStream *CFWriteStreamRef;

void CFStreamCreatePairWithSocket(CFAllocatorRef allocator, int socket, CFReadStreamRef *reading, CFWriteStreamRef *writing);

#if __has_feature(objc_arc)
id CFBridgingRelease(const void *object) __attribute__((ns_returns_retained));
#endif

#endif
