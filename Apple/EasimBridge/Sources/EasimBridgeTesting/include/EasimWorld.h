// Accessories for a test of an app, by the verbs of easim's SimulatedWorld, in real time.

#import <Foundation/Foundation.h>

/// An accessory of a world: plug it in, pull its cable, let it flicker.
@interface EasimPlug : NSObject {
  id _world;
  NSString *_name, *_fault;
}
/// Its id on the server: a1.
@property(nonatomic, readonly) NSString *name;
- (void)plugIn;
- (void)unplug;
/// Pulls the cable, in the middle of whatever happens.
- (void)pull;
/// Unplugs it and plugs it in again with a flicker: first without protocols, then gone, then with all of them.
- (void)flicker;
/// Nothing gets through its cable until `flow`.
- (void)stall;
- (void)flow;
/// Ends its sessions; it stays plugged in.
- (void)closeSessions;
@end

/// The server's world, with the app under test in it. Methods raise an exception when the server refuses.
@interface EasimWorld : NSObject {
  id _link;
  NSMutableArray *_plugs;
  NSUInteger _begin;
}
/// Connects to the server of EASIM_REMOTE. Nil, with a line in the log, when it does not answer.
- (instancetype)init;
/// Adds an accessory by the name of its profile. Further parameters are those of accessory.add, such as quirks.
- (EasimPlug *)add:(NSString *)profile;
- (EasimPlug *)add:(NSString *)profile with:(NSDictionary *)params;
/// Moves the app that was launched last.
- (void)moveAppToBackground;
- (void)suspendApp;
- (void)moveAppToForeground;
/// Chooses in the Bluetooth picker that is shown, or in the next one: an accessory, or nil and "cancelled", "notFound",
/// "failed" or "alreadyConnected".
- (void)choose:(EasimPlug *)accessory or:(NSString *)outcome;
/// What happened since this object was made, a line each, and what the app did wrong.
- (NSString *)timeline;
- (NSString *)misuses;
/// Calls any method of the control protocol.
- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params;
/// Removes the accessories that it added.
- (void)end;
@end
