import Testing

@testable import SluiceCLI

/// Calls of `sluice run` that are wrong as they stand: each is told what would be right, and has the exit code 64.
struct RunOptionsTests {
    private func problem(_ options: [String], _ program: [String] = ["true"]) -> CommandError? {
        let words = ["ws://127.0.0.1:1/shop", "Mail WHERE isSent == false", "--name=mail"] + options + ["--"] + program
        do {
            _ = try RunCommand(ArgumentParser(RunCommand.description).parse(words))
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ("--lease=1ms", "--lease is from 1s to 1d"), ("--lease=999ms", "--lease is from 1s to 1d"),
        ("--lease=2d", "--lease is from 1s to 1d"), ("--lease=0", "--lease is a length of time"),
        ("--lease=-5", "--lease is a length of time"),
        ("--attempts=0", "--attempts is a whole number above 0"), ("--attempts=-1", "--attempts is a whole number"),
        ("--attempts=9223372036854775807", "--attempts is at most 1,000,000"),
        ("--batch=00", "--batch is a whole number above 0"), ("--batch=1001", "--batch is at most 1,000"),
        ("--batch=99999999999999999999", "--batch is at most 1,000"), ("--batch=+5", "--batch is a whole number"),
        ("--workers=1001", "--workers is at most 1,000"), ("--workers=1.5", "--workers is a whole number above 0"),
        ("--timeout=0", "--timeout is a length of time"), ("--timeout=1000000d", "--timeout is a length of time"),
    ])
    func `an amount that makes no sense is not taken`(option: String, text: String) {
        let problem = problem([option])
        #expect(problem?.kind == .usage)
        #expect(problem?.message.contains(text) == true, "\(problem?.message ?? "")")
    }

    @Test func `amounts at the limits are taken`() {
        for options in [
            ["--lease=1s", "--attempts=1000000", "--batch=1000", "--workers=1000"], ["--lease=1d", "--workers=1"],
            ["--changes", "--batch=10000"],
        ] {
            #expect(problem(options) == nil, "\(options)")
        }
        #expect(problem(["--changes", "--batch=10001"])?.message.contains("--batch is at most 10,000") == true)
    }

    @Test func `an empty program is a wrong call`() {
        let problem = problem([], [""])
        #expect(problem?.kind == .usage && problem?.message.hasPrefix("COMMAND is empty") == true)
        #expect(self.problem([], ["/no/such/program"])?.kind == .failure)
    }
}
