#import "EasimStreams.h"

#import "EasimManager.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

// The part that both streams have in common. It is the delegate of the wrapped stream.
@interface EasimStreamPart : NSObject <NSStreamDelegate> {
 @public
  NSStream *_inner;
  EasimPipe *_pipe;
  NSThread *_thread;
  NSError *_error;
  EASIM_UNRETAINED NSStream *_outer;
  EASIM_UNRETAINED id _delegate;
  NSUInteger _early;
  BOOL _isOpen, _isClosed, _isAtEnd, _isTold;
}
@end

@implementation EasimStreamPart

- (instancetype)initWithStream:(NSStream *)inner outer:(NSStream *)outer pipe:(EasimPipe *)pipe {
  if (!(self = [super init])) return nil;
  _inner = EASIM_RETAIN(inner);
  _pipe = EASIM_RETAIN(pipe);
  _outer = outer;
  _delegate = outer;
  if ([outer isKindOfClass:[NSInputStream class]]) {
    pipe->_input = self;
  } else {
    pipe->_output = self;
  }
  [inner setDelegate:self];
  return self;
}

- (void)dealloc {
  [_inner setDelegate:nil];
  if (_pipe->_input == self) _pipe->_input = nil;
  if (_pipe->_output == self) _pipe->_output = nil;
  EASIM_RELEASE(_inner);
  EASIM_RELEASE(_pipe);
  EASIM_RELEASE(_thread);
  EASIM_RELEASE(_error);
  EASIM_DEALLOC_SUPER;
}

- (void)stream:(NSStream *)stream handleEvent:(NSStreamEvent)event {
  BOOL isEnd = event == NSStreamEventEndEncountered || event == NSStreamEventErrorOccurred;
  if (isEnd || (event == NSStreamEventHasBytesAvailable && [_pipe arrived] == EasimArrivedEnd)) return [self endBoth];
  if (!_isTold) [self tell:event];
}

// Makes both streams report their end, each on the thread on which it is scheduled, once all bytes that arrived have
// been read.
- (void)endBoth {
  if ([_pipe arrived] == EasimArrivedBytes) return;
  [_pipe markGone];
  EasimStreamPart *input = EASIM_AUTORELEASE(EASIM_RETAIN(_pipe->_input));
  EasimStreamPart *output = EASIM_AUTORELEASE(EASIM_RETAIN(_pipe->_output));
  [input end];
  [output end];
}

- (void)end {
  _isAtEnd = YES;
  if (_isTold || !_thread || [_thread isFinished]) return;
  if (_thread == [NSThread currentThread]) return [self tellEnd];
  [self performSelector:@selector(tellEnd) onThread:_thread withObject:nil waitUntilDone:NO];
}

- (void)tellEnd {
  if (_isTold || !_isOpen) return;
  _isTold = YES;
  [self tell:NSStreamEventEndEncountered];
}

- (void)tell:(NSStreamEvent)event {
  // Events that happen before the stream is scheduled are reported later, in a turn of its run loop.
  if (!_thread) {
    _early |= event;
    return;
  }
  NSStream *outer = EASIM_AUTORELEASE(EASIM_RETAIN(_outer));
  if (!outer || _isClosed || _delegate == outer) return;
  if ([_delegate respondsToSelector:@selector(stream:handleEvent:)]) [_delegate stream:outer handleEvent:event];
}

- (void)tellEarly {
  NSUInteger early = _early;
  _early = 0;
  for (NSUInteger event = NSStreamEventOpenCompleted; event <= NSStreamEventEndEncountered; event <<= 1) {
    if (early & event) [self tell:event];
  }
}

- (void)open {
  if (_isOpen || _isClosed) return;
  _isOpen = YES;
  [_inner open];
}

- (void)close {
  if (_isClosed) return;
  _isClosed = YES;
  [_inner close];
  if (_pipe->_input == self) {
    _pipe->_inputIsClosed = YES;
  } else {
    _pipe->_outputIsClosed = YES;
  }
  if (_pipe->_inputIsClosed && _pipe->_outputIsClosed) [[EasimManager shared] finish:_pipe];
}

- (void)schedule:(NSRunLoop *)loop mode:(NSString *)mode {
  NSThread *thread = loop == [NSRunLoop mainRunLoop] ? [NSThread mainThread] : [NSThread currentThread];
  if (thread != _thread) {
    EASIM_RELEASE(_thread);
    _thread = EASIM_RETAIN(thread);
  }
  [_inner scheduleInRunLoop:loop forMode:mode];
  if (_early)
    [loop performSelector:@selector(tellEarly)
                   target:self
                 argument:nil
                    order:0
                    modes:[NSArray arrayWithObject:mode]];
}

- (NSStreamStatus)status {
  if (_isClosed) return NSStreamStatusClosed;
  if (!_isOpen) return NSStreamStatusNotOpen;
  if (_error) return NSStreamStatusError;
  return _isAtEnd ? NSStreamStatusAtEnd : NSStreamStatusOpen;
}

- (void)fail:(int)code {
  if (!_error) _error = EASIM_RETAIN([NSError errorWithDomain:NSPOSIXErrorDomain code:code userInfo:nil]);
}

@end

// The methods of NSStream, which are the same for both streams.
#define EASIM_STREAM                                                                              \
  -(id)initWithStream : (NSStream *)inner pipe : (EasimPipe *)pipe {                              \
    if (!(self = [super init])) return nil;                                                       \
    _part = [[EasimStreamPart alloc] initWithStream:inner outer:self pipe:pipe];                  \
    return self;                                                                                  \
  }                                                                                               \
  -(void)dealloc {                                                                                \
    [_part close];                                                                                \
    _part->_outer = nil;                                                                          \
    EASIM_RELEASE(_part);                                                                         \
    EASIM_DEALLOC_SUPER;                                                                          \
  }                                                                                               \
  -(void)open { [_part open]; }                                                                   \
  -(void)close { [_part close]; }                                                                 \
  -(id)delegate { return _part->_delegate; }                                                      \
  -(void)setDelegate : (id)delegate { _part->_delegate = delegate ? delegate : self; }            \
  -(void)scheduleInRunLoop : (NSRunLoop *)loop forMode : (NSString *)mode {                       \
    [_part schedule:loop mode:mode];                                                              \
  }                                                                                               \
  -(void)removeFromRunLoop : (NSRunLoop *)loop forMode : (NSString *)mode {                       \
    [_part->_inner removeFromRunLoop:loop forMode:mode];                                          \
  }                                                                                               \
  -(id)propertyForKey : (NSString *)key { return [_part->_inner propertyForKey:key]; }            \
  -(BOOL)setProperty : (id)value forKey : (NSString *)key {                                       \
    return [_part->_inner setProperty:value forKey:key];                                          \
  }                                                                                               \
  -(NSStreamStatus)streamStatus { return [_part status]; }                                        \
  -(NSError *)streamError { return _part->_error; }

@interface EasimInputStream : NSInputStream {
  EasimStreamPart *_part;
}
@end

@implementation EasimInputStream
EASIM_STREAM

- (NSInteger)read:(uint8_t *)buffer maxLength:(NSUInteger)length {
  if (!_part->_isOpen || _part->_isClosed) return -1;
  // Reading from the socket would block until there are bytes.
  EasimArrived arrived = [_part->_pipe arrived];
  if (arrived == EasimArrivedNothing || _part->_isAtEnd) return 0;
  NSInteger count = [(NSInputStream *)_part->_inner read:buffer maxLength:length];
  if (count > 0) return count;
  // The end is reported in a later turn of the run loop, because the app is in the middle of reading. A socket that was
  // reset has also reached its end.
  _part->_isAtEnd = YES;
  if (_part->_thread)
    [_part performSelector:@selector(endBoth) onThread:_part->_thread withObject:nil waitUntilDone:NO];
  return 0;
}

- (BOOL)getBuffer:(uint8_t **)buffer length:(NSUInteger *)length {
  return NO;
}

- (BOOL)hasBytesAvailable {
  return _part->_isOpen && !_part->_isClosed && !_part->_isAtEnd && [_part->_pipe arrived] != EasimArrivedNothing;
}
@end

@interface EasimOutputStream : NSOutputStream {
  EasimStreamPart *_part;
}
@end

@implementation EasimOutputStream
EASIM_STREAM

- (NSInteger)write:(const uint8_t *)buffer maxLength:(NSUInteger)length {
  if (!_part->_isOpen || _part->_isClosed) return -1;
  if (_part->_isAtEnd || _part->_pipe->_isGone) {
    [_part fail:EPIPE];
    return -1;
  }
  // Writing to the socket would block until there is space.
  if (![_part->_pipe hasRoom]) return 0;
  NSInteger count = [(NSOutputStream *)_part->_inner write:buffer maxLength:length];
  if (count >= 0) {
    _part->_pipe->_written += (unsigned long long)count;
  } else if ([_part->_inner streamStatus] == NSStreamStatusError) {
    [_part fail:EPIPE];
    return -1;
  }
  return MAX(count, 0);
}

- (BOOL)hasSpaceAvailable {
  return _part->_isOpen && !_part->_isClosed && !_part->_isAtEnd && !_part->_pipe->_isGone &&
         [_part->_pipe hasRoom];
}
@end

@implementation EasimPipe

- (instancetype)initWithSocket:(int)socket session:(NSString *)session {
  if (!(self = [super init])) return nil;
  _socket = socket;
  _session = EASIM_RETAIN(session);
  return self;
}

- (void)dealloc {
  close(_socket);
  EASIM_RELEASE(_session);
  EASIM_DEALLOC_SUPER;
}

- (void)makeInput:(NSInputStream **)input output:(NSOutputStream **)output {
  CFReadStreamRef reading = NULL;
  CFWriteStreamRef writing = NULL;
  CFStreamCreatePairWithSocket(NULL, _socket, &reading, &writing);
  NSInputStream *innerInput = EASIM_ADOPT(NSInputStream *, reading);
  NSOutputStream *innerOutput = EASIM_ADOPT(NSOutputStream *, writing);
  *input = EASIM_AUTORELEASE([[EasimInputStream alloc] initWithStream:innerInput pipe:self]);
  *output = EASIM_AUTORELEASE([[EasimOutputStream alloc] initWithStream:innerOutput pipe:self]);
}

- (void)markGone { _isGone = YES; }

- (BOOL)hasRoom {
  struct pollfd look = {.fd = _socket, .events = POLLOUT};
  return poll(&look, 1, 0) == 1 && (look.revents & POLLOUT);
}

- (EasimArrived)arrived {
  char byte;
  ssize_t count = recv(_socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count > 0) return EasimArrivedBytes;
  return count < 0 && (errno == EAGAIN || errno == EINTR) ? EasimArrivedNothing : EasimArrivedEnd;
}

@end
