#import "EasimWorld.h"

#import "EasimLink.h"

@interface EasimPlug ()
- (instancetype)initWithName:(NSString *)name in:(EasimWorld *)world;
@end

@implementation EasimWorld

- (instancetype)init {
  if (!(self = [super init])) return nil;
  _plugs = [[NSMutableArray alloc] init];
  NSString *remote = [[[NSProcessInfo processInfo] environment] objectForKey:@"EASIM_REMOTE"];
  EasimLink *link = [[EasimLink alloc] initWithRemote:remote delegate:nil];
  _link = link;
  NSString *problem = link ? [link open] : @"EASIM_REMOTE is not host:port#token";
  if (problem) {
    NSLog(@"EasimWorld: %@", problem);
    EASIM_RELEASE(self);
    return nil;
  }
  _begin = [[[self notices:0] lastObject] unsignedIntegerValue];
  return self;
}

- (void)dealloc {
  [_link close];
  // The link's thread retains the link until that thread has ended.
  EASIM_RELEASE(_link);
  EASIM_RELEASE(_plugs);
  EASIM_DEALLOC_SUPER;
}

- (NSDictionary *)call:(NSString *)method with:(NSDictionary *)params {
  NSDictionary *problem = nil;
  NSDictionary *result = [_link call:method with:params problem:&problem];
  if (!result) [NSException raise:@"EasimWorldException" format:@"%@: %@", method, [problem objectForKey:@"message"]];
  return result;
}

- (EasimPlug *)add:(NSString *)profile {
  return [self add:profile with:[NSDictionary dictionary]];
}

- (EasimPlug *)add:(NSString *)profile with:(NSDictionary *)params {
  NSMutableDictionary *all = [NSMutableDictionary dictionaryWithDictionary:params];
  [all setObject:profile forKey:@"profile"];
  NSString *name = [[[self call:@"accessory.add" with:all] objectForKey:@"accessories"] objectAtIndex:0];
  EasimPlug *plug = EASIM_AUTORELEASE([[EasimPlug alloc] initWithName:name in:self]);
  [_plugs addObject:name];
  return plug;
}

- (NSDictionary *)app {
  return [[[self call:@"app.list" with:[NSDictionary dictionary]] objectForKey:@"apps"] lastObject];
}

- (void)move:(NSString *)method {
  NSString *app = [[self app] objectForKey:@"app"];
  if (!app) [NSException raise:@"EasimWorldException" format:@"no app was launched: use EAAccessoryManager first"];
  [self call:method with:[NSDictionary dictionaryWithObject:app forKey:@"app"]];
}

- (void)moveAppToBackground { [self move:@"app.background"]; }
- (void)suspendApp { [self move:@"app.suspend"]; }
- (void)moveAppToForeground { [self move:@"app.foreground"]; }

- (void)choose:(EasimPlug *)accessory or:(NSString *)outcome {
  NSString *app = [[self app] objectForKey:@"app"];
  if (!app) [NSException raise:@"EasimWorldException" format:@"no app was launched: use EAAccessoryManager first"];
  [self call:@"app.choose"
        with:accessory
                 ? [NSDictionary dictionaryWithObjectsAndKeys:app, @"app", [accessory name], @"accessory", nil]
                 : [NSDictionary dictionaryWithObjectsAndKeys:app, @"app", outcome, @"outcome", nil]];
}

// Returns the timeline's lines after a given number, followed by the number of the last line.
- (NSArray *)notices:(NSUInteger)after {
  NSMutableArray *lines = [NSMutableArray array];
  NSArray *notices;
  do {
    notices = [[self call:@"events.list"
                     with:[NSDictionary dictionaryWithObject:[NSNumber numberWithUnsignedInteger:after] forKey:@"after"]]
        objectForKey:@"notices"];
    for (NSDictionary *notice in notices) {
      NSDictionary *params = [notice objectForKey:@"params"];
      after = [[params objectForKey:@"number"] unsignedIntegerValue];
      NSData *data = [NSJSONSerialization dataWithJSONObject:params options:0 error:NULL];
      [lines addObject:EASIM_AUTORELEASE([[NSString alloc] initWithData:data encoding:NSUTF8StringEncoding])];
    }
  } while ([notices count] > 0);
  [lines addObject:[NSNumber numberWithUnsignedInteger:after]];
  return lines;
}

- (NSString *)timeline {
  NSArray *lines = [self notices:_begin];
  return [[lines subarrayWithRange:NSMakeRange(0, [lines count] - 1)] componentsJoinedByString:@"\n"];
}

- (NSString *)misuses { return [[[self app] objectForKey:@"misuses"] componentsJoinedByString:@"\n"]; }

- (void)end {
  for (NSString *name in _plugs)
    [_link call:@"accessory.remove" with:[NSDictionary dictionaryWithObject:name forKey:@"accessory"]];
  [_plugs removeAllObjects];
}

@end

@implementation EasimPlug

- (instancetype)initWithName:(NSString *)name in:(EasimWorld *)world {
  if (!(self = [super init])) return nil;
  _name = EASIM_RETAIN(name);
  _world = EASIM_RETAIN(world);
  return self;
}

- (void)dealloc {
  EASIM_RELEASE(_name);
  EASIM_RELEASE(_fault);
  EASIM_RELEASE(_world);
  EASIM_DEALLOC_SUPER;
}

- (NSString *)name { return _name; }

- (void)call:(NSString *)method {
  [_world call:method with:[NSDictionary dictionaryWithObject:_name forKey:@"accessory"]];
}

- (void)plugIn { [self call:@"accessory.plug"]; }
- (void)unplug { [self call:@"accessory.unplug"]; }
- (void)pull { [self call:@"accessory.pull"]; }
- (void)flicker { [self call:@"accessory.flicker"]; }
- (void)closeSessions { [self call:@"accessory.closeSessions"]; }

- (void)stall {
  NSDictionary *params = [NSDictionary dictionaryWithObjectsAndKeys:_name, @"accessory", @"stall", @"fault", nil];
  EASIM_RELEASE(_fault);
  _fault = EASIM_RETAIN([[[_world call:@"fault.add" with:params] objectForKey:@"faults"] lastObject]);
}

- (void)flow {
  if (_fault) [_world call:@"fault.remove" with:[NSDictionary dictionaryWithObject:_fault forKey:@"fault"]];
  EASIM_RELEASE(_fault);
  _fault = nil;
}

@end
