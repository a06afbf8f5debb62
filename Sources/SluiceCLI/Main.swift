internal import Glibc

@main
struct Main {
    static func main() async {
        Signals.ignoreBrokenPipes()
        exit(await Program.sluice.run(Array(CommandLine.arguments.dropFirst())))
    }
}
