#import <CoreFoundation/CoreFoundation.h>
#import <Foundation/Foundation.h>

#include <signal.h>
#include <unistd.h>

// GNUstep makes such pairs for the connections that a server stream accepts, by these methods.
@interface NSStream (AcceptedSockets)
- (void)_setPassive:(BOOL)isPassive;
- (void)_setSock:(int)socket;
- (void)_setSibling:(NSStream *)sibling;
@end

void CFStreamCreatePairWithSocket(CFAllocatorRef allocator, int socket, CFReadStreamRef *reading, CFWriteStreamRef *writing) {
  // Sockets of Apple's have an option of their own for this.
  signal(SIGPIPE, SIG_IGN);
  NSStream *input = [[NSClassFromString(@"GSInetInputStream") alloc] init];
  NSStream *output = [[NSClassFromString(@"GSInetOutputStream") alloc] init];
  // GNUstep closes what it was given, so it gets one of its own.
  int own = dup(socket);
  for (NSStream *stream in [NSArray arrayWithObjects:input, output, nil]) {
    [stream _setPassive:YES];
    [stream _setSock:own];
  }
  [input _setSibling:output];
  [output _setSibling:input];
  *reading = (CFReadStreamRef)input;
  *writing = (CFWriteStreamRef)output;
}
