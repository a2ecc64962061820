// Accessories for testing an app, with the methods of easim's SimulatedWorld, in real time.

#import <Foundation/Foundation.h>

/// An accessory of a world: plug it in, pull its cable, let it flicker.
@interface EasimPlug : NSObject {
  id _world;
  NSString *_name, *_fault;
}
/// The accessory's ID on the server, such as a1.
@property(nonatomic, readonly) NSString *name;
- (void)plugIn;
- (void)unplug;
/// Pulls the accessory's cable, even in the middle of a transfer.
- (void)pull;
/// Unplugs the accessory and plugs it in again with a flicker: it connects without protocols, disconnects, and connects
/// with all of them.
- (void)flicker;
/// Stops all bytes on the accessory's cable until `flow` is called.
- (void)stall;
- (void)flow;
/// Makes the accessory end its sessions; it stays plugged in.
- (void)closeSessions;
@end

/// The server's world, which contains the app under test. Methods raise an exception if the server refuses a request.
@interface EasimWorld : NSObject {
  id _link;
  NSMutableArray *_plugs;
  NSUInteger _begin;
}
/// Connects to the server that EASIM_REMOTE names. Returns nil and logs a line if the server does not answer.
- (instancetype)init;
/// Adds an accessory with the named profile. Further parameters, such as quirks, are the same as those of
/// accessory.add.
- (EasimPlug *)add:(NSString *)profile;
- (EasimPlug *)add:(NSString *)profile with:(NSDictionary *)params;
/// Moves the most recently launched app to the background.
- (void)moveAppToBackground;
- (void)suspendApp;
- (void)moveAppToForeground;
/// Answers the Bluetooth picker that is shown or, if none is shown, the next one: with an accessory, or with nil and
/// "cancelled", "notFound", "failed" or "alreadyConnected".
- (void)choose:(EasimPlug *)accessory or:(NSString *)outcome;
/// What has happened since this object was created, one line for each event, and the app's mistakes.
- (NSString *)timeline;
- (NSString *)misuses;
/// Calls any method of the control protocol.
- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params;
/// Removes the accessories that this object added.
- (void)end;
@end
