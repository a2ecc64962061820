#import <CoreFoundation/CoreFoundation.h>
#import <Foundation/Foundation.h>

#include <signal.h>
#include <unistd.h>

// GNUstep uses these methods to create a pair of streams for each connection that a server stream accepts.
@interface NSStream (AcceptedSockets)
- (void)_setPassive:(BOOL)isPassive;
- (void)_setSock:(int)socket;
- (void)_setSibling:(NSStream *)sibling;
@end

void CFStreamCreatePairWithSocket(CFAllocatorRef allocator, int socket, CFReadStreamRef *reading, CFWriteStreamRef *writing) {
  // On Apple's systems, a socket option prevents this signal.
  signal(SIGPIPE, SIG_IGN);
  NSStream *input = [[NSClassFromString(@"GSInetInputStream") alloc] init];
  NSStream *output = [[NSClassFromString(@"GSInetOutputStream") alloc] init];
  // GNUstep closes the descriptor that it is given, so it gets a duplicate.
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
