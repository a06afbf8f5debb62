/// `sluice manual`.
struct ManualCommand: Command {
    static let description = CommandDescription(
        "manual", "Print the manual page, as the source that man reads.",
        examples: ["sluice manual | man -l -", "sluice manual > /usr/local/share/man/man1/sluice.1"])

    init(_ arguments: ParsedArguments) throws(CommandError) {}

    func run() async throws {
        StandardOutput.shared.write(text: ManualPage(commands: Program.sluice.descriptions).text)
    }
}
