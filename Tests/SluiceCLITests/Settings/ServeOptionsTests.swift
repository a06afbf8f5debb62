import Testing

@testable import SluiceCLI

struct ServeOptionsTests {
    @Test(arguments: [
        "--rules=rules.json", "--users", "--allow-anonymous", "--allow-everything", "--jwt-issuer=https://a.b",
    ])
    func developmentWithLoginsOrRulesSaysWhatToUseInstead(option: String) async throws {
        let parsed = try ArgumentParser(ServeCommand.description).parse(["--data=data", "--dev", option])
        let error = await #expect(throws: CommandError.self) { try await ServeCommand(parsed).run() }
        #expect(error?.kind == .usage)
        let name = option.split(separator: "=")[0]
        #expect(error?.message.contains("so \(name) says nothing beside it; leave out --dev") == true)
        #expect(error?.message.contains("--rules=FILE --allow-anonymous") == true, "\(error?.message ?? "")")
    }
}
