#if __has_include(<XCTest/XCTest.h>)

#import "EasimTestCase.h"

#import "EasimPlatform.h"

@implementation EasimTestCase

- (EasimWorld *)world { return _easimWorld; }

- (void)setUp {
  [super setUp];
  _easimWorld = [[EasimWorld alloc] init];
  XCTAssertNotNil(_easimWorld, @"set EASIM_REMOTE in the scheme, and start easim serve --remote");
}

- (void)tearDown {
  if (self.testRun.totalFailureCount > 0 && _easimWorld) {
    [self attach:[_easimWorld timeline] as:@"easim timeline"];
    [self attach:[_easimWorld misuses] as:@"easim misuses"];
  }
  [_easimWorld end];
  EASIM_RELEASE(_easimWorld);
  _easimWorld = nil;
  [super tearDown];
}

- (void)attach:(NSString *)text as:(NSString *)name {
  XCTAttachment *attachment = [XCTAttachment attachmentWithString:text ? text : @""];
  attachment.name = name;
  attachment.lifetime = XCTAttachmentLifetimeKeepAlways;
  [self addAttachment:attachment];
}

@end

#endif
