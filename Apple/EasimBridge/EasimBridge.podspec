# We have never used this on an Apple machine: see README.md.
Pod::Spec.new do |spec|
  spec.name = 'EasimBridge'
  spec.version = '0.1.0'
  spec.summary = "Apps in the iOS Simulator meet easim's accessories through ExternalAccessory"
  spec.homepage = 'https://github.com/OWNER/easim'  # replace OWNER with the owner of the repository that you use
  spec.license = { :type => 'Apache-2.0', :file => '../../LICENSE' }
  spec.authors = 'The easim authors'
  spec.source = { :path => '.' }
  spec.ios.deployment_target = '12.0'
  spec.osx.deployment_target = '10.13'
  spec.requires_arc = true
  spec.default_subspecs = 'Bridge'
  spec.subspec 'Bridge' do |bridge|
    bridge.source_files = 'Sources/EasimBridge/**/*.{h,m}'
    bridge.public_header_files = 'Sources/EasimBridge/include/*.h'
    bridge.frameworks = 'ExternalAccessory', 'CoreFoundation'
  end
  spec.subspec 'Testing' do |testing|
    testing.dependency 'EasimBridge/Bridge'
    testing.source_files = 'Sources/EasimBridgeTesting/**/*.{h,m}'
    testing.frameworks = 'XCTest'
  end
end
