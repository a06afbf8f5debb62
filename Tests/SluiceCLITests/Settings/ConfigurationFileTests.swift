import Testing

@testable import SluiceCLI

struct ConfigurationFileTests {
    @Test func linesSetAndCommentsDoNot() throws {
        let file = try ConfigurationFile(
            """
            # what a comment says
              # is nothing
            listen = 127.0.0.1:9080   # where

            \t log-domains=network=warning,login=off
            jwks = https://a.example/#keys
            worker-id = " a # b "  # quoted
            dev=true\r
            """, at: "s.conf")
        #expect(
            file.lines == [
                .init(number: 3, name: "listen", value: "127.0.0.1:9080"),
                .init(number: 5, name: "log-domains", value: "network=warning,login=off"),
                .init(number: 6, name: "jwks", value: "https://a.example/#keys"),
                .init(number: 7, name: "worker-id", value: " a # b "), .init(number: 8, name: "dev", value: "true"),
            ])
    }

    @Test(arguments: [
        ("listen", "s.conf:1: a line is NAME = VALUE"), ("\n= x", "s.conf:2: a line is NAME = VALUE"),
        ("a = \"x", "s.conf:1: a value that begins with \" ends with \""),
        ("a = \"x\" y", "s.conf:1: nothing but a comment may follow the quoted value, and 'y' does"),
    ])
    func aLineThatIsNoSettingIsRefusedWithItsPlace(text: String, message: String) throws {
        let error = #expect(throws: CommandError.self) { try ConfigurationFile(text, at: "s.conf") }
        #expect(error?.kind == .usage)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["plain", "", " edges ", "a # b", "a#b", "#a", "C:\\x", "a = b", "\u{1F600}"])
    func whatIsQuotedReadsBackTheSame(value: String) throws {
        let file = try ConfigurationFile("name = \(ConfigurationFile.quoted(value))  # x", at: "s.conf")
        #expect(file.lines.map(\.value) == [value])
    }

    @Test func aFileThatCannotBeReadIsNamed() throws {
        let missing = #expect(throws: CommandError.self) { try ConfigurationFile(at: "/nowhere/s.conf") }
        #expect(missing?.message == "--config: '/nowhere/s.conf' cannot be read: no such file or directory")
        let binary = try TemporaryFile(bytes: [0xFF, 0xFE], suffix: ".conf")
        let error = #expect(throws: CommandError.self) { try ConfigurationFile(at: binary.path) }
        #expect(error?.message.hasSuffix("is not UTF-8") == true)
    }
}
