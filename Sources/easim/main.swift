import AccessoryCables
import AccessoryFormats
import AccessoryProfiles
import Glibc
import LinuxIO

private func execute(_ words: [String], _ console: Console) -> ExitCode {
  guard let name = words.first else {
    console.err(HelpText.overview(CommandSpec.all))
    return .usage
  }
  if name == "help", words.count > 1 { return execute([words[1], "--help"], console) }
  if name == "completion", words.dropFirst().first == "offer" {
    CompletionOffers(after: Array(words.dropFirst(2).dropLast()), at: words.last ?? "").print(console)
    return .done
  }
  if ["--help", "-h", "help"].contains(name) {
    console.out(HelpText.overview(CommandSpec.all))
    return .done
  }
  if name == "--version" {
    console.out(Version.line)
    return .done
  }
  guard let command = CommandSpec.all.first(where: { $0.name == name }) else {
    let near = Suggestion.nearHint(for: name, in: CommandSpec.all.map(\.name))
    console.complain(
      "unknown command '\(Excerpt.of(name))'\(near)", advice: "run 'easim --help' for a list of commands")
    return .usage
  }
  do {
    if let code = try command.run(Array(words.dropFirst()), console) { return code }
    console.out(HelpText.text(for: command))
    return .done
  } catch let error as UsageError {
    console.complain(error.message, advice: "run 'easim \(command.name) --help' for help")
  } catch let failure as CommandFailure {
    console.complain(failure.message)
    return failure.code
  } catch TransportError.remoteNotAllowed(let address) {
    let option = command.hasOption("--allow-remote") ? ": use --allow-remote" : ""
    console.complain("\(TransportError.remoteNotAllowed(address))\(option)")
  } catch let error as TransportError where error.isAboutUsers {
    console.complain("\(error)\(command.hasOption("--any-user") ? ": --any-user" : "")")
  } catch let error as TransportError {
    console.complain(error.text)
  } catch {
    console.complain("\(error)")
  }
  return .usage
}

private func easim(_ words: [String]) -> ExitCode {
  let console = Console()
  if let complaint = CommandWords.complaint {
    console.complain(complaint)
    return .usage
  }
  let code = execute(words, console)
  console.trace?.finish(code, console)
  console.finish()
  return code == .done && !console.isComplete ? .usage : code
}

StandardDescriptors.hold()
exit(easim(Array(CommandLine.arguments.dropFirst())).rawValue)
