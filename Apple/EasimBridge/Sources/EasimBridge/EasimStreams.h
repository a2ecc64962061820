// A session's two streams, which share one socket. Each wraps a stream from CFStreamCreatePairWithSocket, which works
// with run loops, and adds behavior that an accessory's streams have but a socket's streams do not: both streams end
// together, a write without space accepts nothing, and a write after the end fails with a broken pipe error.

#import "EasimPlatform.h"

@class EasimStreamPart;

/// What can be read from a session at the moment.
typedef enum { EasimArrivedNothing, EasimArrivedBytes, EasimArrivedEnd } EasimArrived;

/// A session's socket. The session and both streams retain it, and it is closed when the last of them is released.
@interface EasimPipe : NSObject {
 @public
  int _socket;
  NSString *_session;
  unsigned long long _written;
  EASIM_UNRETAINED EasimStreamPart *_input, *_output;
  BOOL _isGone, _inputIsClosed, _outputIsClosed, _isFinished;
}
- (instancetype)initWithSocket:(int)socket session:(NSString *)session;
/// Creates the streams.
- (void)makeInput:(NSInputStream **)input output:(NSOutputStream **)output;
/// Records that the server reported the end of the session, so that nothing more can be written.
- (void)markGone;
- (EasimArrived)arrived;
- (BOOL)hasRoom;
@end
