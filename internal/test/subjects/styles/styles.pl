#!/usr/bin/env perl
# Correct converters: one object a line, in the style that the argument names.
use strict;
use warnings;
use JSON::PP;

my $prefix = "styles.example.com/";
my $json   = JSON::PP->new->ascii->canonical->allow_nonref;

sub keep {
    my ($object, $name, $value) = @_;
    $object->{metadata}{annotations}{ $prefix . $name } = $json->encode($value);
}

# kept takes what an annotation keeps; undef if there is none, or it is none of ours.
sub kept {
    my ($object, $name) = @_;
    my $metadata = $object->{metadata} or return undef;
    my $annotations = $metadata->{annotations} or return undef;
    return undef unless exists $annotations->{ $prefix . $name };
    my $value = eval { $json->decode($annotations->{ $prefix . $name }) };
    return undef unless defined $value;
    delete $annotations->{ $prefix . $name };
    delete $metadata->{annotations} unless %$annotations;
    return $value;
}

# A list with keys becomes a map. The order of the list is kept if it is not that of the keys.
sub maps {
    my ($from, $to, $object) = @_;
    my $spec = $object->{spec} or return;
    for my $field ([ "env", "name", "value" ], [ "limits", "resource", "amount" ]) {
        my ($list, $key, $value) = @$field;
        if ($to eq "v1") {
            next unless defined $spec->{$list};
            my @keys = map { $_->{$key} } @{ $spec->{$list} };
            keep($object, $list, \@keys) if "@keys" ne join(" ", sort @keys);
            $spec->{$list} = { map { $_->{$key} => $_->{$value} } @{ $spec->{$list} } };
            next;
        }
        my $order = kept($object, $list);
        next unless defined $spec->{$list};
        my (%rest, @items);
        $rest{$_} = 1 for keys %{ $spec->{$list} };
        for my $name (@{ ref $order eq "ARRAY" ? $order : [] }, sort keys %rest) {
            push @items, { $key => $name, $value => $spec->{$list}{$name} } if delete $rest{$name};
        }
        $spec->{$list} = \@items;
    }
}

# A smaller unit becomes a larger one. What is below that is kept, for as long as the rest stays the same.
sub units {
    my ($from, $to, $object) = @_;
    my $spec = $object->{spec} or return;
    for my $field ([ "timeoutMillis", "timeoutSeconds", 1000 ], [ "basisPoints", "percent", 100 ]) {
        my ($small, $large, $factor) = @$field;
        if ($to eq "v1") {
            my $rest = kept($object, $large);
            next unless defined $spec->{$large};
            my $whole = delete $spec->{$large};
            $spec->{$small} = $whole * $factor + ($rest && $rest->{of} == $whole ? $rest->{rest} : 0);
            next;
        }
        next unless defined $spec->{$small};
        my $value = delete $spec->{$small};
        my $rest = $value % $factor;
        $spec->{$large} = ($value - $rest) / $factor;
        keep($object, $large, { of => $spec->{$large}, rest => $rest }) if $rest;
    }
}

# The older version has a field that follows from others, by a rule.
sub derived {
    my ($from, $to, $object) = @_;
    my $spec = $object->{spec} or return;
    if ($to eq "v1") {
        delete $spec->{fullName};
        for my $part ("first", "last") {
            $spec->{name}{$part} = delete $spec->{ $part . "Name" } if exists $spec->{ $part . "Name" };
        }
        return;
    }
    my $name = delete $spec->{name} or return; # it has a part: the schema wants one
    $spec->{ $_ . "Name" } = $name->{$_} for keys %$name;
    $spec->{fullName} = "$name->{first} $name->{last}" if exists $name->{first} && exists $name->{last};
}

my %styles = (maps => \&maps, units => \&units, derived => \&derived);
my $convert = $styles{ $ARGV[0] } or die "no style";
$| = 1;
binmode STDIN, ":encoding(UTF-8)";
while (my $line = <STDIN>) {
    my $request = $json->decode($line);
    eval { $convert->($request->{from}, $request->{to}, $request->{object}); 1 } or $request = { error => "$@" };
    print $json->encode($request), "\n";
}
