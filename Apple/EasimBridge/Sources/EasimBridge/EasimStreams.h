// The two streams of a session, which share one socket. Each wraps a stream from CFStreamCreatePairWithSocket, which
// works with run loops, and adds what the streams of an accessory do but those of a socket do not: both end together, a
// write without space accepts nothing, and a write after the end gives a broken pipe error.

#import "EasimPlatform.h"

@class EasimStreamPart;

/// What can currently be read from a session.
typedef enum { EasimArrivedNothing, EasimArrivedBytes, EasimArrivedEnd } EasimArrived;

/// The socket of a session. Both streams and the session retain it, and it is closed when the last of them is released.
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
/// The server reported that the session has ended: nothing can be written any more.
- (void)markGone;
- (EasimArrived)arrived;
- (BOOL)hasRoom;
@end
