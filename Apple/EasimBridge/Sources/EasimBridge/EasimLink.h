// One connection for requests to `easim serve --remote`: JSON-RPC, one object per line.

#import "EasimPlatform.h"

@class EasimLink;

@protocol EasimLinkDelegate <NSObject>
/// A notification has come. On the link's own thread, before the answer to any request that is sent afterwards.
- (void)link:(EasimLink *)link received:(NSDictionary *)params of:(NSString *)method;
/// The connection is over. On the link's own thread.
- (void)link:(EasimLink *)link endedBecause:(NSString *)reason;
@end

@interface EasimLink : NSObject {
  EASIM_UNRETAINED id<EasimLinkDelegate> _delegate;
  NSString *_host, *_port, *_token;
  NSCondition *_condition;
  NSMutableDictionary *_answers;
  NSMutableSet *_waiting;
  NSUInteger _last;
  int _socket;
  BOOL _isOpen;
}

/// `remote` is host:port#token. Nil when it is not.
- (instancetype)initWithRemote:(NSString *)remote delegate:(id<EasimLinkDelegate>)delegate;

/// Connects. Returns nil, or what went wrong.
- (NSString *)open;

/// Whether it is connected.
- (BOOL)isOpen;

/// Calls a method and waits for its answer. Returns the result; nil with a problem when there is none.
- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params problem:(NSDictionary **)problem;
- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params;

/// Makes another connection to the same place and sends this line. Returns the socket, or -1.
- (int)connectWithFirstLine:(NSString *)line;

/// Ends the connection.
- (void)close;
@end
