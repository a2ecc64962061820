// The two streams of a session, over one socket. Behind each is a stream of CFStreamCreatePairWithSocket, which does the work
// with run loops; in front of it is what an accessory's streams do and a socket's do not: both end together, a write without
// space takes nothing, and a write after the end is a broken pipe.

#import "EasimPlatform.h"

@class EasimStreamPart;

/// What can be read from a session now.
typedef enum { EasimArrivedNothing, EasimArrivedBytes, EasimArrivedEnd } EasimArrived;

/// The socket of a session, which both streams and the session hold. It is closed with the last of them.
@interface EasimPipe : NSObject {
 @public
  int _socket;
  NSString *_session;
  unsigned long long _written;
  EASIM_UNRETAINED EasimStreamPart *_input, *_output;
  BOOL _isGone, _inputIsClosed, _outputIsClosed, _isFinished;
}
- (instancetype)initWithSocket:(int)socket session:(NSString *)session;
/// Makes the streams.
- (void)makeInput:(NSInputStream **)input output:(NSOutputStream **)output;
/// The server says that the session has ended: nothing can be written any more.
- (void)markGone;
- (EasimArrived)arrived;
- (BOOL)hasRoom;
@end
