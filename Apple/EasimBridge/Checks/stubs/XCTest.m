#import <XCTest/XCTest.h>

@implementation XCTAttachment
@synthesize name = _name, lifetime = _lifetime;
+ (instancetype)attachmentWithString:(NSString *)string {
  XCTAttachment *made = [[[self alloc] init] autorelease];
  made->_text = [string copy];
  return made;
}
- (NSString *)description { return _text; }
@end

@implementation XCTestRun
@synthesize totalFailureCount = _totalFailureCount;
@end

@implementation XCTestCase
@synthesize testRun = _testRun;
- (id)init {
  if ((self = [super init])) _testRun = [[XCTestRun alloc] init];
  return self;
}
- (void)setUp {}
- (void)tearDown {}
- (void)addAttachment:(XCTAttachment *)attachment {}
@end
