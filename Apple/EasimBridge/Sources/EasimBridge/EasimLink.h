// A connection to `easim serve --remote` for requests: JSON-RPC, with one object per line.

#import "EasimPlatform.h"

@class EasimLink;

@protocol EasimLinkDelegate <NSObject>
/// A notification arrived. Called on the link's own thread, before the answer to any request that is sent afterwards.
- (void)link:(EasimLink *)link received:(NSDictionary *)params of:(NSString *)method;
/// The connection has ended. Called on the link's own thread.
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

/// `remote` has the form host:port#token. Returns nil if it has a different form.
- (instancetype)initWithRemote:(NSString *)remote delegate:(id<EasimLinkDelegate>)delegate;

/// Connects. Returns a description of the problem, or nil if there was none.
- (NSString *)open;

/// Whether the link is connected.
- (BOOL)isOpen;

/// Calls a method and waits for its answer. Returns the result, or nil and a problem.
- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params problem:(NSDictionary **)problem;
- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params;

/// Opens another connection to the same server and sends this line. Returns the socket, or -1.
- (int)connectWithFirstLine:(NSString *)line;

/// Ends the connection.
- (void)close;
@end
